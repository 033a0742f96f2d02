# Headers, the libraries, a CMake package and a pkg-config file; pages and examples; tools.

include(GNUInstallDirs)
set(LANEPOOL_EXAMPLES_DIR ${CMAKE_INSTALL_DOCDIR}/examples)

# lanepool_install_tool(<program> <bash completion>)
function(lanepool_install_tool program completion)
    if(NOT LANEPOOL_INSTALL)
        return()
    endif()
    # The tool finds the shared library also in a tree that was moved.
    file(RELATIVE_PATH libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH $ORIGIN/${libraries})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
    install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME ${program} COMPONENT tools)
endfunction()

if(NOT LANEPOOL_INSTALL)
    return()
endif()

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lanepool)

install(TARGETS ${LANEPOOL_LIBRARIES} EXPORT lanepool-targets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${LANEPOOL_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/lanepool)

install(TARGETS lanepool_remote EXPORT lanepool-remote-targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT lanepool-remote-targets NAMESPACE lanepool:: DESTINATION ${package_dir})
install(EXPORT lanepool-targets NAMESPACE lanepool:: DESTINATION ${package_dir})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/lanepool-config.cmake.in
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface, as semantic versioning allows.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatibility SameMinorVersion)
else()
    set(compatibility SameMajorVersion)
endif()
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/lanepool-config-version.cmake
    COMPATIBILITY ${compatibility})
install(FILES
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-config-version.cmake
    DESTINATION ${package_dir})

# Relative to the file itself, so that an installed tree can be moved.
file(RELATIVE_PATH LANEPOOL_PC_TO_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/lanepool.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool.pc @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/lanepool-remote.pc.in
    ${CMAKE_CURRENT_BINARY_DIR}/lanepool-remote.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lanepool.pc ${CMAKE_CURRENT_BINARY_DIR}/lanepool-remote.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# docs/CMakeLists.txt installs the pages, whose links lead to these examples.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/demo/examples/ ${PROJECT_SOURCE_DIR}/demo/tutorial
    DESTINATION ${LANEPOOL_EXAMPLES_DIR} COMPONENT docs
    FILES_MATCHING PATTERN *.c PATTERN *.cpp PATTERN *.out)
