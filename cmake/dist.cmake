# Target dist: the files of the last commit as lanepool-VERSION.tar.gz, and lanepool.wrap, by which a
# Meson project uses that archive. All times in the archive are that of the commit, so every build of it
# has the same bytes.

find_package(Git QUIET)
find_program(GZIP_PROGRAM gzip)
mark_as_advanced(GZIP_PROGRAM)
if(NOT LANEPOOL_IS_TOP_LEVEL OR NOT GIT_FOUND OR NOT GZIP_PROGRAM OR
        NOT EXISTS ${PROJECT_SOURCE_DIR}/.git)
    return()
endif()

set(name lanepool-${PROJECT_VERSION})
add_custom_target(dist
    COMMAND ${GIT_EXECUTABLE} -C ${PROJECT_SOURCE_DIR} -c tar.umask=0022 archive --format=tar
        --prefix=${name}/ --output=${CMAKE_BINARY_DIR}/${name}.tar HEAD
    COMMAND ${GZIP_PROGRAM} -n -9 -f ${name}.tar
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DTEMPLATE=${CMAKE_CURRENT_LIST_DIR}/lanepool.wrap.in
        -P ${CMAKE_CURRENT_LIST_DIR}/write_wrap.cmake
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    VERBATIM)
