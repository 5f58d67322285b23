# find_package(cohort) makes the targets cohort::cohort, the shared library, and
# cohort::cohort_static.  The folder can be moved as a whole.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
get_filename_component(cohort_lib "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
get_filename_component(cohort_prefix "${cohort_lib}/@UP@" ABSOLUTE)

foreach(cohort_kind SHARED STATIC)
    if(cohort_kind STREQUAL "SHARED")
        set(cohort_target cohort::cohort)
        set(cohort_file "${cohort_lib}/libcohort.so")
    else()
        set(cohort_target cohort::cohort_static)
        set(cohort_file "${cohort_lib}/libcohort.a")
    endif()
    if(NOT TARGET ${cohort_target} AND EXISTS "${cohort_file}")
        add_library(${cohort_target} ${cohort_kind} IMPORTED)
        set_target_properties(${cohort_target} PROPERTIES
            IMPORTED_LOCATION "${cohort_file}"
            INTERFACE_INCLUDE_DIRECTORIES "${cohort_prefix}/include"
            INTERFACE_LINK_LIBRARIES Threads::Threads)
    endif()
endforeach()
unset(cohort_kind)
unset(cohort_target)
unset(cohort_file)
