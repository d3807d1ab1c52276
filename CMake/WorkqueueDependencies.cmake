# Finds or fetches the libraries that this library depends on.

include(FetchContent)

option(WORKQUEUE_FETCH_DEPENDENCIES
  "Fetch Abseil and GoogleTest where find_package() does not find them" ON)

# workqueue_find_or_fetch()
#
# Uses the package of the including project if that project has the target. If
# not, uses the package that find_package() finds. If there is none, fetches the
# release that WORKSPACE names. CMAKE_DISABLE_FIND_PACKAGE_<package> skips
# find_package().
function(workqueue_find_or_fetch package target repository)
  if(TARGET ${target})
    return()
  endif()
  if(NOT WORKQUEUE_FETCH_DEPENDENCIES)
    find_package(${package} CONFIG REQUIRED)
    return()
  endif()
  find_package(${package} CONFIG QUIET)
  if(TARGET ${target})
    return()
  endif()

  file(READ "${PROJECT_SOURCE_DIR}/WORKSPACE" workspace)
  string(REGEX MATCH
    "name = \"${repository}\",\n *sha256 = \"([^\"]*)\",[^)]*urls = .\"([^\"]*)\""
    declaration "${workspace}")
  message(STATUS "Fetching ${CMAKE_MATCH_2}")
  FetchContent_Declare(${package}
    URL "${CMAKE_MATCH_2}"
    URL_HASH "SHA256=${CMAKE_MATCH_1}"
  )
  # The installed library needs Abseil, but not GoogleTest.
  set(ABSL_ENABLE_INSTALL ${WORKQUEUE_ENABLE_INSTALL})
  set(ABSL_PROPAGATE_CXX_STD ON)
  set(INSTALL_GTEST OFF)
  set(gtest_force_shared_crt ON)  # as all others with MSVC
  # They do not mark what a shared library exports: all is.
  set(CMAKE_CXX_VISIBILITY_PRESET default)
  set(CMAKE_VISIBILITY_INLINES_HIDDEN OFF)
  FetchContent_MakeAvailable(${package})
  # Abseil 20240116 installs this helper of its tests, which needs GoogleTest.
  if(TARGET test_allocator)
    set_property(TARGET test_allocator PROPERTY INTERFACE_LINK_LIBRARIES)
  endif()
endfunction()

# workqueue_check_abseil()
#
# Fails if shared libraries are asked for, each of which would have a copy of Abseil's
# state. A static Abseil is linked into all of them. On Linux, the dynamic linker
# then uses one copy, unless the symbols are hidden.
function(workqueue_check_abseil)
  get_target_property(type absl::synchronization TYPE)
  if(NOT BUILD_SHARED_LIBS OR NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  get_target_property(imported absl::synchronization IMPORTED)
  set(symbols)
  if(imported AND CMAKE_READELF)
    get_target_property(file absl::synchronization LOCATION)
    execute_process(COMMAND "${CMAKE_READELF}" -sW "${file}"
      OUTPUT_VARIABLE symbols)
  elseif(NOT imported)
    get_target_property(visibility absl::synchronization CXX_VISIBILITY_PRESET)
    set(symbols " GLOBAL ${visibility} _ZN4absl")
  endif()
  set(why)
  if(WIN32 OR APPLE)
    set(why " on ${CMAKE_SYSTEM_NAME}")
  elseif(symbols MATCHES " GLOBAL +(HIDDEN|hidden) [^\n]*_ZN4absl")
    set(why ", or a static one whose symbols are not hidden")
  endif()
  if(why)
    message(FATAL_ERROR "workqueue's shared libraries need a shared Abseil${why}: "
      "with this one, each would have a copy of its state. Use another Abseil, or "
      "-DBUILD_SHARED_LIBS=OFF")
  endif()
endfunction()
