# Headers, the libraries, a CMake package and a pkg-config file.

if(NOT LANEPOOL_INSTALL)
    return()
endif()

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lanepool)

install(TARGETS ${LANEPOOL_LIBRARIES} EXPORT lanepool-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${LANEPOOL_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanepool)

install(EXPORT lanepool-targets NAMESPACE lanepool:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lanepool-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface, as semantic versioning allows.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lanepool-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-config-version.cmake
    DESTINATION ${package_dir})

# Relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH LANEPOOL_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/lanepool.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lanepool.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
