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
  FetchContent_MakeAvailable(${package})
endfunction()
