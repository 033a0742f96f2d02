# The library, shared and static, as it is installed; and a testing build that opens the internals and
# checks its assertions.

find_package(Threads REQUIRED)

# Adapters are libraries of their own.
file(GLOB_RECURSE LANEPOOL_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER LANEPOOL_SOURCES EXCLUDE REGEX "/src/adapters/")
file(GLOB LANEPOOL_PUBLIC_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lanepool/*.h)

# Static probes of the events, where the system has them. Looked for at each configuration, so that a
# tree which was configured before the header was installed is built again.
find_path(LANEPOOL_SDT_INCLUDE_DIR sys/sdt.h)
mark_as_advanced(LANEPOOL_SDT_INCLUDE_DIR)

# lanepool_add_library(<name> <type> <source or object>...): what every build of the library has.
function(lanepool_add_library name type)
    add_library(${name} ${type} ${ARGN})
    target_include_directories(${name}
        PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
        PRIVATE ${PROJECT_SOURCE_DIR}/src)
    if(LANEPOOL_SDT_INCLUDE_DIR)
        target_compile_definitions(${name} PRIVATE LANEPOOL_STATIC_PROBES=1)
    endif()
    target_compile_features(${name} PUBLIC c_std_11)
    target_link_libraries(${name} PUBLIC Threads::Threads)
    set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
endfunction()

# The shared and the static library are the same objects.
lanepool_add_library(lanepool_objects OBJECT ${LANEPOOL_SOURCES})
set_target_properties(lanepool_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)

lanepool_add_library(lanepool SHARED $<TARGET_OBJECTS:lanepool_objects>)
set(symbol_map ${PROJECT_SOURCE_DIR}/cmake/lanepool.map)
target_link_options(lanepool PRIVATE -Wl,--version-script=${symbol_map})
set_target_properties(lanepool PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    LINK_DEPENDS ${symbol_map}
    EXPORT_NAME shared)

lanepool_add_library(lanepool_static STATIC $<TARGET_OBJECTS:lanepool_objects>)
set_target_properties(lanepool_static PROPERTIES
    OUTPUT_NAME lanepool
    EXPORT_NAME static)

add_library(lanepool::shared ALIAS lanepool)
add_library(lanepool::static ALIAS lanepool_static)
if(BUILD_SHARED_LIBS)
    add_library(lanepool::lanepool ALIAS lanepool)
else()
    add_library(lanepool::lanepool ALIAS lanepool_static)
endif()

if(LANEPOOL_BUILD_TESTS)
    lanepool_add_library(lanepool_testing STATIC ${LANEPOOL_SOURCES})
    target_include_directories(lanepool_testing PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(lanepool_testing PUBLIC LANEPOOL_TESTING=1)
    target_compile_options(lanepool_testing PRIVATE -UNDEBUG)
endif()
