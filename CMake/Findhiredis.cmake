# Finds hiredis, whatever its version: before 1.0 it has no package for CMake that
# defines a target. Defines the target of later versions, hiredis::hiredis. With it,
# the include path is "hiredis/hiredis.h". The file is installed with the library.

if(NOT TARGET hiredis::hiredis)
  find_package(hiredis CONFIG QUIET)
endif()
if(TARGET hiredis::hiredis)
  set(hiredis_FOUND TRUE)
  return()
endif()

# The library must be that of the headers.
find_path(hiredis_INCLUDE_DIR hiredis/hiredis.h)
get_filename_component(hiredis_prefix "${hiredis_INCLUDE_DIR}" DIRECTORY)
find_library(hiredis_LIBRARY NAMES hiredis hiredisd
  PATHS "${hiredis_prefix}"
  PATH_SUFFIXES lib lib64 lib/${CMAKE_LIBRARY_ARCHITECTURE}
  NO_DEFAULT_PATH)
mark_as_advanced(hiredis_INCLUDE_DIR hiredis_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(hiredis
  REQUIRED_VARS hiredis_LIBRARY hiredis_INCLUDE_DIR)

if(hiredis_FOUND)
  add_library(hiredis::hiredis UNKNOWN IMPORTED)
  set_target_properties(hiredis::hiredis PROPERTIES
    IMPORTED_LOCATION "${hiredis_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${hiredis_INCLUDE_DIR}"
  )
endif()
