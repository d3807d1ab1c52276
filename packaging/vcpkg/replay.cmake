# The calls of CMake that vcpkg's functions make for our port on Linux, for `check`
# where there is no vcpkg. The names are vcpkg's.

cmake_minimum_required(VERSION 3.21)

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_download_distfile result)
  cmake_parse_arguments(ARG "" "FILENAME;SHA512" "URLS" ${ARGN})
  file(SHA512 "${DOWNLOADS}/${ARG_FILENAME}" hash)
  if(NOT hash STREQUAL ARG_SHA512)
    message(FATAL_ERROR "SHA512 is ${hash}")
  endif()
  set(${result} "${DOWNLOADS}/${ARG_FILENAME}" PARENT_SCOPE)
endfunction()

function(vcpkg_extract_source_archive result)
  cmake_parse_arguments(ARG "" "ARCHIVE" "" ${ARGN})
  file(ARCHIVE_EXTRACT INPUT "${ARG_ARCHIVE}" DESTINATION "${BUILDTREES_DIR}")
  file(GLOB path "${BUILDTREES_DIR}/${PORT}-*")
  set(${result} "${path}" PARENT_SCOPE)
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(ARG "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
  set(options)
  while(ARG_FEATURES)
    list(POP_FRONT ARG_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND options "-D${option}=ON")
    else()
      list(APPEND options "-D${option}=OFF")
    endif()
  endwhile()
  set(${ARG_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(ARG "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  run("${CMAKE_COMMAND}" -S "${ARG_SOURCE_PATH}" -B "${BUILDTREES_DIR}/rel" -G Ninja
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}"
    -DCMAKE_CXX_FLAGS=-fPIC -DFETCHCONTENT_FULLY_DISCONNECTED=ON -DBUILD_SHARED_LIBS=OFF
    -DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
    -DCMAKE_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION=ON -DCMAKE_INSTALL_LIBDIR:STRING=lib
    -DCMAKE_INSTALL_BINDIR:STRING=bin ${ARG_OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run("${CMAKE_COMMAND}" --build "${BUILDTREES_DIR}/rel" --target install)
endfunction()

# vcpkg moves the package, and makes its files find the prefix from there.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(ARG "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  set(share "${CURRENT_PACKAGES_DIR}/share/${ARG_PACKAGE_NAME}")
  file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/share")
  file(RENAME "${CURRENT_PACKAGES_DIR}/${ARG_CONFIG_PATH}" "${share}")
  file(REMOVE "${CURRENT_PACKAGES_DIR}/lib/cmake")
  file(GLOB files "${share}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REGEX REPLACE
      "get_filename_component\\(_IMPORT_PREFIX \"\\\${CMAKE_CURRENT_LIST_FILE}\" PATH\\)(\nget_filename_component\\(_IMPORT_PREFIX \"\\\${_IMPORT_PREFIX}\" PATH\\))*"
      "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)"
      text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  set(ENV{PKG_CONFIG_PATH} "${CURRENT_PACKAGES_DIR}/lib/pkgconfig")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME_WE)
    run(pkg-config --print-errors --exists "${name}")
  endforeach()
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(ARG "AUTO_CLEAN" "" "TOOL_NAMES" ${ARGN})
  file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}/tools/${PORT}")
  foreach(tool IN LISTS ARG_TOOL_NAMES)
    file(RENAME "${CURRENT_PACKAGES_DIR}/bin/${tool}" "${CURRENT_PACKAGES_DIR}/tools/${PORT}/${tool}")
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(ARG "" "" "FILE_LIST" ${ARGN})
  file(INSTALL ${ARG_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
endfunction()

function(vcpkg_check_linkage)
endfunction()
function(vcpkg_copy_pdbs)
endfunction()

set(CURRENT_PACKAGES_DIR "${PACKAGES_DIR}/${PORT}_${TARGET_TRIPLET}")
include("${CURRENT_PORT_DIR}/portfile.cmake")
