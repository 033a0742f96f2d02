# Executors of other libraries, each in a library of its own, where the other one is there:
# lanepool::glib and lanepool::uv bring lanepool::lanepool along. They are found by pkg-config.

if(LANEPOOL_BUILD_ADAPTERS)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND)
        pkg_check_modules(LANEPOOL_GLIB QUIET IMPORTED_TARGET glib-2.0>=2.58)
        pkg_check_modules(LANEPOOL_UV QUIET IMPORTED_TARGET libuv>=1.19)
    endif()
endif()

# lanepool_add_adapter(<name> <imported target> <package that pkg-config knows>)
function(lanepool_add_adapter name imported requires)
    if(NOT TARGET ${imported})
        return()
    endif()
    set(target lanepool_${name})
    add_library(${target} STATIC ${PROJECT_SOURCE_DIR}/src/adapters/${name}.c)
    target_include_directories(${target} PUBLIC
        $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    target_compile_features(${target} PUBLIC c_std_11)
    # Installed, the package's component adds lanepool::lanepool, shared or static as its user says.
    target_link_libraries(${target} PUBLIC ${imported} $<BUILD_INTERFACE:lanepool::lanepool>)
    set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON
        EXPORT_NAME ${name})
    add_library(lanepool::${name} ALIAS ${target})
    if(NOT LANEPOOL_INSTALL)
        return()
    endif()

    install(TARGETS ${target} EXPORT lanepool-${name}-targets COMPONENT ${name}
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
    install(FILES ${PROJECT_SOURCE_DIR}/include/lanepool/adapters/${name}.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanepool/adapters COMPONENT ${name})
    install(EXPORT lanepool-${name}-targets NAMESPACE lanepool::
        DESTINATION ${package_dir} COMPONENT ${name})

    set(LANEPOOL_ADAPTER ${name})
    set(LANEPOOL_ADAPTER_REQUIRES ${requires})
    configure_file(${PROJECT_SOURCE_DIR}/cmake/lanepool-adapter.pc.in
        ${CMAKE_CURRENT_BINARY_DIR}/lanepool-${name}.pc @ONLY)
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lanepool-${name}.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT ${name})
endfunction()

lanepool_add_adapter(glib PkgConfig::LANEPOOL_GLIB glib-2.0)
lanepool_add_adapter(uv PkgConfig::LANEPOOL_UV libuv)
