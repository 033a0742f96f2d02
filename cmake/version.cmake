# The version lives in one place, the public header; this reads it before project() needs it.

set(version_header ${CMAKE_CURRENT_LIST_DIR}/../include/lanepool/status.h)
set(LANEPOOL_HEADER_VERSION "")
foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${version_header} line REGEX "^#define LANEPOOL_VERSION_${part} [0-9]+")
    string(REGEX REPLACE ".* ([0-9]+)$" "\\1" number "${line}")
    list(APPEND LANEPOOL_HEADER_VERSION ${number})
endforeach()
list(JOIN LANEPOOL_HEADER_VERSION "." LANEPOOL_HEADER_VERSION)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${version_header})
