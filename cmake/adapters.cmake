# What needs another library, each in libraries of its own, where the other one is there: executors
# of GLib and libuv, and batches in PostgreSQL. lanepool::glib, lanepool::uv and lanepool::pg bring
# lanepool::lanepool along. The other libraries are found by pkg-config.

if(LANEPOOL_BUILD_ADAPTERS)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(LANEPOOL_GLIB QUIET IMPORTED_TARGET glib-2.0>=2.58)
        pkg_check_modules(LANEPOOL_UV QUIET IMPORTED_TARGET libuv>=1.19)
        pkg_check_modules(LANEPOOL_PG QUIET IMPORTED_TARGET libpq>=14)
    endif()
endif()

# lanepool_add_adapter_library(<adapter> <target> <SHARED or STATIC> <lanepool's target>
#     <imported target> <source>...)
function(lanepool_add_adapter_library name target type library imported)
    string(TOLOWER ${type} kind)
    add_library(${target} ${type} ${ARGN})
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_features(${target} PUBLIC c_std_11)
    target_compile_options(${target} PRIVATE $<$<CONFIG:>:-O2>)
    # Installed, the package's component adds the library of lanepool that the exports of another
    # package describe.
    target_link_libraries(${target} PUBLIC ${imported} $<BUILD_INTERFACE:${library}>)
    set_target_properties(${target} PROPERTIES
        C_VISIBILITY_PRESET hidden
        POSITION_INDEPENDENT_CODE ON
        OUTPUT_NAME lanepool_${name}
        EXPORT_NAME ${name}_${kind})
    add_library(lanepool::${name}_${kind} ALIAS ${target})
    if(LANEPOOL_INSTALL)
        install(TARGETS ${target} EXPORT lanepool-${name}-targets COMPONENT ${name}
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
            ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
            INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    endif()
endfunction()

# lanepool_add_adapter(<name> <imported target> <package that pkg-config knows> <what it is>
#     <source>...)
function(lanepool_add_adapter name imported requires description)
    if(NOT TARGET ${imported})
        return()
    endif()
    if(LANEPOOL_SHARED)
        set(target lanepool_${name})
        set(map ${PROJECT_SOURCE_DIR}/src/adapters/liblanepool_${name}.map)
        lanepool_add_adapter_library(${name} ${target} SHARED lanepool::shared ${imported}
            ${ARGN})
        target_link_options(${target} PRIVATE -Wl,--version-script=${map})
        set_target_properties(${target} PROPERTIES
            VERSION ${PROJECT_VERSION}
            SOVERSION ${LANEPOOL_SOVERSION}
            INSTALL_RPATH $ORIGIN
            LINK_DEPENDS ${map})
    endif()
    if(LANEPOOL_STATIC)
        lanepool_add_adapter_library(${name} lanepool_${name}_static STATIC lanepool::static
            ${imported} ${ARGN})
    endif()
    # Of the kind that lanepool::lanepool is.
    get_target_property(library lanepool::lanepool ALIASED_TARGET)
    if(library STREQUAL "lanepool")
        add_library(lanepool::${name} ALIAS lanepool_${name})
    else()
        add_library(lanepool::${name} ALIAS lanepool_${name}_static)
    endif()
    if(NOT LANEPOOL_INSTALL)
        return()
    endif()

    install(FILES ${PROJECT_SOURCE_DIR}/include/lanepool/adapters/${name}.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanepool/adapters COMPONENT ${name})
    install(EXPORT lanepool-${name}-targets NAMESPACE lanepool::
        DESTINATION ${package_dir} COMPONENT ${name})

    set(LANEPOOL_ADAPTER ${name})
    set(LANEPOOL_ADAPTER_REQUIRES ${requires})
    set(LANEPOOL_ADAPTER_DESCRIPTION ${description})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/lanepool-adapter.pc.in
        ${CMAKE_CURRENT_BINARY_DIR}/lanepool-${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lanepool-${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${name})
endfunction()

# lanepool_embed_text(<file> <name of a variable> <source to write>): a C array of the file's bytes,
# with a zero behind them.
function(lanepool_embed_text file variable source)
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    file(CONFIGURE OUTPUT ${source} CONTENT
        "extern const char ${variable}[];\nconst char ${variable}[] = {\n${bytes}0};\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
endfunction()

lanepool_add_adapter(glib PkgConfig::LANEPOOL_GLIB glib-2.0 "Sequences of lanepool on glib-2.0"
    ${PROJECT_SOURCE_DIR}/src/adapters/glib.c)
lanepool_add_adapter(uv PkgConfig::LANEPOOL_UV libuv "Sequences of lanepool on libuv"
    ${PROJECT_SOURCE_DIR}/src/adapters/uv.c)
if(TARGET PkgConfig::LANEPOOL_PG)
    file(GLOB pg_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/adapters/pg/*.c)
    set(schema ${CMAKE_CURRENT_BINARY_DIR}/pg_schema_sql.c)
    lanepool_embed_text(${PROJECT_SOURCE_DIR}/src/adapters/pg/schema.sql lanepool_i_pg_schema_sql
        ${schema})
    lanepool_add_adapter(pg PkgConfig::LANEPOOL_PG libpq "Batches of lanepool in PostgreSQL"
        ${pg_sources} ${schema})
endif()
