# The version of the headers; a later one with the same major number will do.
foreach(folder ../include ../csrc ../../../include)  # as in gstarConfig.cmake
    set(header "${CMAKE_CURRENT_LIST_DIR}/${folder}/gstar/version.hpp")
    if(EXISTS "${header}")
        file(STRINGS "${header}" lines REGEX "^#define GSTAR_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
        string(REGEX REPLACE "[^0-9;]" "" PACKAGE_VERSION "${lines}")
        string(REPLACE ";" "." PACKAGE_VERSION "${PACKAGE_VERSION}")
        break()
    endif()
endforeach()
string(REGEX MATCH "^[0-9]+" major "${PACKAGE_VERSION}")

if(PACKAGE_VERSION STREQUAL "" OR
   PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR
   NOT PACKAGE_FIND_VERSION_MAJOR EQUAL major)
    set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
    set(PACKAGE_VERSION_COMPATIBLE TRUE)
    if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
        set(PACKAGE_VERSION_EXACT TRUE)
    endif()
endif()
