# The functions that stand for Bazel's rules in the CMakeLists.txt of the folders.

# Returns from the calling function if this machine cannot build the target,
# because of LINUX_ONLY or because one of REQUIRES does not exist.
macro(workqueue_return_if_impossible)
  if(ARG_LINUX_ONLY AND NOT CMAKE_SYSTEM_NAME STREQUAL "Linux")
    return()
  endif()
  foreach(target IN LISTS ARG_REQUIRES)
    if(NOT TARGET ${target})
      message(STATUS "No ${ARG_NAME}: there is no ${target}")
      return()
    endif()
  endforeach()
endmacro()

# workqueue_cc_library()
#
# Adds the library workqueue::NAME.
#
# Parameters:
# NAME: name of the target
# HDRS: header files
# SRCS: source files, and headers that only these files include
# DEPS: libraries that the target needs
# REQUIRES: targets that may be missing; if one is, the function does nothing
# LINUX_ONLY: on other systems, the function does nothing
function(workqueue_cc_library)
  cmake_parse_arguments(ARG "LINUX_ONLY" "NAME" "HDRS;SRCS;DEPS;REQUIRES"
    ${ARGN})
  workqueue_return_if_impossible()

  # Other projects share the namespaces of files and targets, so the name has a
  # prefix.
  set(target "workqueue_${ARG_NAME}")
  if(ARG_SRCS)
    set(scope PUBLIC)
    add_library(${target} ${ARG_SRCS} ${ARG_HDRS})
    # Before 1.0, each release may change the ABI.
    set_target_properties(${target} PROPERTIES SOVERSION ${PROJECT_VERSION})
    if(APPLE)
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "@loader_path")
    else()
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
    endif()
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  add_library(workqueue::${ARG_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${ARG_NAME})

  target_include_directories(${target} ${scope}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
  )
  target_compile_features(${target} ${scope} cxx_std_17)
  target_link_libraries(${target} ${scope} ${ARG_DEPS})
endfunction()

# workqueue_cc_binary()
#
# Adds the program NAME. Its file is in the build folder of the caller, where the
# tests look for it. A program that is installed finds the libraries beside it.
#
# Parameters:
# NAME: name of the target
# SRCS: source files
# DEPS: libraries that the target needs
# REQUIRES: targets that may be missing; if one is, the function does nothing
# LINUX_ONLY: on other systems, the function does nothing
function(workqueue_cc_binary)
  cmake_parse_arguments(ARG "LINUX_ONLY" "NAME" "SRCS;DEPS;REQUIRES" ${ARGN})
  workqueue_return_if_impossible()

  set(target "workqueue_${ARG_NAME}")
  add_executable(${target} ${ARG_SRCS})
  add_executable(workqueue::${ARG_NAME} ALIAS ${target})
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${ARG_NAME}
    # CMake does not append the configuration to a generator expression.
    RUNTIME_OUTPUT_DIRECTORY "$<1:${CMAKE_CURRENT_BINARY_DIR}>"
    EXPORT_NAME ${ARG_NAME}
  )
  if(APPLE)
    set(origin "@loader_path")
  else()
    set(origin "$ORIGIN")
  endif()
  set_target_properties(${target} PROPERTIES
    INSTALL_RPATH "${origin}/../${CMAKE_INSTALL_LIBDIR}")
  target_link_libraries(${target} PRIVATE ${ARG_DEPS})
endfunction()

# workqueue_cc_test()
#
# Adds a test program and its test in ctest. Both have the name workqueue_NAME.
# The test finds files where Bazel's runfiles have them: sources relative to the
# working directory, and built files in $TEST_SRCDIR/$TEST_WORKSPACE.
#
# Parameters:
# NAME: name of the target
# SRCS: source files
# DEPS: libraries that the target needs
# LINKOPTS: options for the linker
# PROGRAMS: targets of programs that the test runs
# REQUIRES: targets that may be missing; if one is, the function does nothing
# LABELS: labels for ctest
# LINUX_ONLY: on other systems, the function does nothing
function(workqueue_cc_test)
  cmake_parse_arguments(ARG "LINUX_ONLY" "NAME"
    "SRCS;DEPS;REQUIRES;LINKOPTS;PROGRAMS;LABELS" ${ARGN})
  workqueue_return_if_impossible()

  set(target "workqueue_${ARG_NAME}")
  add_executable(${target} ${ARG_SRCS})
  # As tools/cc.bzl does. 0 is all sources in one.
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ON
    UNITY_BUILD_BATCH_SIZE 0
  )
  target_link_libraries(${target} PRIVATE
    ${ARG_DEPS}
    ${ARG_LINKOPTS}
  )
  if(ARG_PROGRAMS)
    add_dependencies(${target} ${ARG_PROGRAMS})
  endif()

  add_test(NAME ${target} COMMAND ${target}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set(environment
    "TEST_SRCDIR=${PROJECT_BINARY_DIR}"
    "TEST_WORKSPACE=."
    "TEST_TMPDIR=${CMAKE_CURRENT_BINARY_DIR}"
  )
  set_tests_properties(${target} PROPERTIES
    ENVIRONMENT "${environment}"
    LABELS "${ARG_LABELS}"
  )
endfunction()
