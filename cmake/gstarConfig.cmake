# find_package(gstar): the headers (gstar::gstar) and the C interface (gstar::c, gstar::c_static).
#
# The C libraries are built in your project, from the source that is shipped with
# the headers, and only if you link them.
cmake_minimum_required(VERSION 3.15)

foreach(folder ../include ../csrc ../../../include)  # in the Python package, in a checkout, after cmake --install
    get_filename_component(GSTAR_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/${folder}" ABSOLUTE)
    if(EXISTS "${GSTAR_INCLUDE_DIR}/gstar/decide.hpp")
        break()
    endif()
endforeach()
if(NOT EXISTS "${GSTAR_INCLUDE_DIR}/gstar/decide.hpp")
    set(gstar_FOUND FALSE)
    set(gstar_NOT_FOUND_MESSAGE "the headers are not beside ${CMAKE_CURRENT_LIST_DIR}")
    return()
endif()

if(NOT TARGET gstar::gstar)
    find_package(Threads REQUIRED)
    add_library(gstar::gstar INTERFACE IMPORTED GLOBAL)  # so that a project sees it that adds this folder
    set_target_properties(gstar::gstar PROPERTIES
        INTERFACE_INCLUDE_DIRECTORIES "${GSTAR_INCLUDE_DIR}"
        INTERFACE_COMPILE_FEATURES cxx_std_17
        INTERFACE_LINK_LIBRARIES "${CMAKE_THREAD_LIBS_INIT}")
    if(NOT MSVC)  # sums must be the same everywhere
        set_property(TARGET gstar::gstar PROPERTY INTERFACE_COMPILE_OPTIONS -ffp-contract=off)
    endif()

    set(GSTAR_C_SOURCE "${GSTAR_INCLUDE_DIR}/capi/capi.cpp")
    if(NOT EXISTS "${GSTAR_C_SOURCE}")  # after cmake --install
        set(GSTAR_C_SOURCE "${CMAKE_CURRENT_LIST_DIR}/capi.cpp")
    endif()
    foreach(kind shared static)
        string(TOUPPER ${kind} KIND)
        add_library(gstar_c_${kind} ${KIND} EXCLUDE_FROM_ALL "${GSTAR_C_SOURCE}")
        target_link_libraries(gstar_c_${kind} PUBLIC gstar::gstar)
        set_target_properties(gstar_c_${kind} PROPERTIES
            OUTPUT_NAME gstar POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
    endforeach()
    target_compile_definitions(gstar_c_shared PUBLIC GSTAR_SHARED)
    add_library(gstar::c ALIAS gstar_c_shared)
    add_library(gstar::c_static ALIAS gstar_c_static)
endif()
