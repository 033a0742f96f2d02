# The library, shared and static, as it is installed; and a testing build that opens the internals
# and checks its assertions.

find_package(Threads REQUIRED)

# Adapters are libraries of their own.
file(GLOB_RECURSE LANEPOOL_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.c)
list(FILTER LANEPOOL_SOURCES EXCLUDE REGEX "/src/(adapters|remote)/")
# The engine knows nothing of what inspects it: a library of its own, on the public headers.
set(LANEPOOL_INSPECT_SOURCES ${LANEPOOL_SOURCES})
list(FILTER LANEPOOL_INSPECT_SOURCES INCLUDE REGEX "/src/inspect/")
list(FILTER LANEPOOL_SOURCES EXCLUDE REGEX "/src/inspect/")
file(GLOB LANEPOOL_PUBLIC_HEADERS CONFIGURE_DEPENDS
    ${PROJECT_SOURCE_DIR}/include/lanepool/*.h ${PROJECT_SOURCE_DIR}/include/lanepool/*.hpp)

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
    # Misuse that no status can tell ends the program with a message.
    if(LANEPOOL_CHECKS)
        target_compile_definitions(${name} PRIVATE LANEPOOL_CHECKED=1)
    else()
        target_compile_definitions(${name} PRIVATE $<$<CONFIG:Debug>:LANEPOOL_CHECKED=1>)
    endif()
    # A project that embeds lanepool may have no build type, which means no optimisation.
    target_compile_options(${name} PRIVATE $<$<CONFIG:>:-O2>)
    target_link_libraries(${name} PUBLIC Threads::Threads)
    set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden)
endfunction()

# The shared and the static library are the same objects: the engine, and what inspects it. Programs
# link one library.
lanepool_add_library(lanepool_objects OBJECT ${LANEPOOL_SOURCES})
lanepool_add_library(lanepool_inspect OBJECT ${LANEPOOL_INSPECT_SOURCES})
set_target_properties(lanepool_objects lanepool_inspect PROPERTIES POSITION_INDEPENDENT_CODE ON)
set(all_objects $<TARGET_OBJECTS:lanepool_objects> $<TARGET_OBJECTS:lanepool_inspect>)

# The number in the name that programs ask the loader for. docs/abi.md says what it promises.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(LANEPOOL_SOVERSION 0.${PROJECT_VERSION_MINOR})
else()
    set(LANEPOOL_SOVERSION ${PROJECT_VERSION_MAJOR})
endif()

set(LANEPOOL_LIBRARIES "")
if(LANEPOOL_SHARED)
    lanepool_add_library(lanepool SHARED ${all_objects})
    set(symbol_map ${PROJECT_SOURCE_DIR}/src/liblanepool.map)
    # A thread that has used a pool calls the library when it ends, also after a dlclose().
    target_link_options(lanepool PRIVATE -Wl,--version-script=${symbol_map} -Wl,-z,nodelete)
    set_target_properties(lanepool PROPERTIES
        VERSION ${PROJECT_VERSION}
        SOVERSION ${LANEPOOL_SOVERSION}
        LINK_DEPENDS ${symbol_map}
        EXPORT_NAME shared)
    add_library(lanepool::shared ALIAS lanepool)
    list(APPEND LANEPOOL_LIBRARIES lanepool)
endif()

if(LANEPOOL_STATIC)
    lanepool_add_library(lanepool_static STATIC ${all_objects})
    set_target_properties(lanepool_static PROPERTIES
        OUTPUT_NAME lanepool
        EXPORT_NAME static)
    add_library(lanepool::static ALIAS lanepool_static)
    list(APPEND LANEPOOL_LIBRARIES lanepool_static)
endif()

if(LANEPOOL_SHARED AND (BUILD_SHARED_LIBS OR NOT LANEPOOL_STATIC))
    add_library(lanepool::lanepool ALIAS lanepool)
else()
    add_library(lanepool::lanepool ALIAS lanepool_static)
endif()

# Remote batches: a library of its own, on the public headers.
file(GLOB LANEPOOL_REMOTE_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/remote/*.c)
add_library(lanepool_remote STATIC ${LANEPOOL_REMOTE_SOURCES})
target_include_directories(lanepool_remote
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_features(lanepool_remote PUBLIC c_std_11)
target_compile_options(lanepool_remote PRIVATE $<$<CONFIG:>:-O2>)
# Installed, the package adds lanepool::lanepool, shared or static as its user says.
target_link_libraries(lanepool_remote PUBLIC $<BUILD_INTERFACE:lanepool::lanepool>)
set_target_properties(lanepool_remote PROPERTIES
    POSITION_INDEPENDENT_CODE ON
    EXPORT_NAME remote)
if(NOT LANEPOOL_IS_TOP_LEVEL)
    set_target_properties(lanepool_remote PROPERTIES EXCLUDE_FROM_ALL ON) # built if it is used
endif()
add_library(lanepool::remote ALIAS lanepool_remote)

if(LANEPOOL_BUILD_TESTS)
    lanepool_add_library(lanepool_testing STATIC ${LANEPOOL_SOURCES} ${LANEPOOL_INSPECT_SOURCES})
    target_include_directories(lanepool_testing PUBLIC ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(lanepool_testing PUBLIC LANEPOOL_TESTING=1)
    # Public, since structs of a checked build have additional members.
    target_compile_options(lanepool_testing
        PUBLIC -ULANEPOOL_CHECKED -DLANEPOOL_CHECKED=1 PRIVATE -UNDEBUG)
endif()
