# The engines of other projects. Each is built if its Debian package is installed. Engines that are
# left out are listed in one line.

set(programs ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
if(NOT programs)
    set(programs ${CMAKE_CURRENT_BINARY_DIR})
endif()

# lanepool_bench_leave_out(<name> <Debian packages>)
function(lanepool_bench_leave_out name packages)
    set_property(GLOBAL APPEND PROPERTY lanepool_missing_peers "${name} (${packages})")
    # An older program may not start any more.
    file(REMOVE ${programs}/bench_${name})
endfunction()

# lanepool_bench_peer(<name> <source> <library's target> <Debian packages>)
function(lanepool_bench_peer name source library packages)
    if(TARGET ${library})
        lanepool_bench_engine(${name} ${source} ${library})
    else()
        lanepool_bench_leave_out(${name} ${packages})
    endif()
endfunction()

# lanepool_bench_openmp(<runtime> <its compiler> <Debian packages>): the runtime's own compiler
# compiles and links this engine, because the project's compiler may be another one.
function(lanepool_bench_openmp runtime compiler packages)
    find_program(LANEPOOL_BENCH_${compiler} ${compiler})
    mark_as_advanced(LANEPOOL_BENCH_${compiler})
    set(command ${LANEPOOL_BENCH_${compiler}} -std=c11 -D_DEFAULT_SOURCE -O2 -Wall -Wextra -fopenmp)
    set(trial ${CMAKE_CURRENT_BINARY_DIR}/${runtime}_trial)
    file(WRITE ${trial}.c "int main(void)\n{\n#pragma omp parallel\n    {\n    }\n}\n")
    execute_process(COMMAND ${command} ${trial}.c -o ${trial}
        RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
    if(NOT result STREQUAL "0")
        lanepool_bench_leave_out(${runtime} ${packages})
        return()
    endif()
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/engines/openmp.c)
    set(program ${programs}/bench_${runtime})
    add_custom_command(OUTPUT ${program}
        COMMAND ${command} -I${CMAKE_CURRENT_SOURCE_DIR} ${source}
            $<TARGET_FILE:bench_core> -pthread -lm -o ${program}
        DEPENDS ${source} ${CMAKE_CURRENT_SOURCE_DIR}/engine.h bench_core
        COMMENT "Building bench_${runtime} with ${compiler}" VERBATIM)
    add_custom_target(bench_${runtime} DEPENDS ${program})
    add_dependencies(bench bench_${runtime})
endfunction()

find_package(TBB QUIET CONFIG)
find_package(Boost QUIET CONFIG)
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
    pkg_search_module(LANEPOOL_BENCH_GLIB QUIET IMPORTED_TARGET glib-2.0)
    pkg_search_module(LANEPOOL_BENCH_STARPU QUIET IMPORTED_TARGET starpu-1.4 starpu-1.3)
endif()

lanepool_bench_peer(tbb engines/tbb.cpp TBB::tbb libtbb-dev)
lanepool_bench_peer(tbb-group engines/tbb_group.cpp TBB::tbb libtbb-dev)
lanepool_bench_peer(asio engines/asio.cpp Boost::headers libboost-dev)
lanepool_bench_peer(glib engines/glib.c PkgConfig::LANEPOOL_BENCH_GLIB "pkg-config, libglib2.0-dev")
lanepool_bench_peer(starpu engines/starpu.c PkgConfig::LANEPOOL_BENCH_STARPU
    "pkg-config, libstarpu-dev")
lanepool_bench_openmp(libgomp gcc gcc)
lanepool_bench_openmp(libomp clang "clang, libomp-dev")

get_property(missing_peers GLOBAL PROPERTY lanepool_missing_peers)
if(missing_peers)
    list(JOIN missing_peers ", " missing_peers)
    message(STATUS "lanepool: the benchmark goes without ${missing_peers}")
endif()
