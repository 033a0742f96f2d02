# What a build can be asked for, and the flags that follow from it.

if(CMAKE_SOURCE_DIR STREQUAL PROJECT_SOURCE_DIR)
    set(LANEPOOL_IS_TOP_LEVEL ON)
else()
    set(LANEPOOL_IS_TOP_LEVEL OFF)
endif()

# At top level both libraries are built. Embedded in another project, only the one that the project's
# BUILD_SHARED_LIBS asks for is built, and nothing of lanepool is installed.
if(LANEPOOL_IS_TOP_LEVEL)
    option(BUILD_SHARED_LIBS "lanepool::lanepool is the shared library, not the static one" ON)
    set(shared_default ON)
    set(static_default ON)
elseif(BUILD_SHARED_LIBS)
    set(shared_default ON)
    set(static_default OFF)
else()
    set(shared_default OFF)
    set(static_default ON)
endif()
option(LANEPOOL_SHARED "Build the shared library" ${shared_default})
option(LANEPOOL_STATIC "Build the static library" ${static_default})
option(LANEPOOL_INSTALL "Install the libraries, headers, pages, examples and tools"
    ${LANEPOOL_IS_TOP_LEVEL})
option(LANEPOOL_BUILD_ADAPTERS "Build what needs GLib, libuv or libpq, where these are there"
    ${LANEPOOL_IS_TOP_LEVEL})
option(LANEPOOL_BUILD_TESTS "Build the tests" ${LANEPOOL_IS_TOP_LEVEL})
option(LANEPOOL_BUILD_DEMO "Build the demo programs" ${LANEPOOL_IS_TOP_LEVEL})
option(LANEPOOL_BUILD_DOCS "Add the target that makes the documentation" ${LANEPOOL_IS_TOP_LEVEL})
option(LANEPOOL_DEEP_TESTS "Search larger bounds and more schedules, as .ci/run does" OFF)
option(LANEPOOL_SANITIZED_SIMULATORS "Build the simulators with sanitizers, too, as tests/soak does" OFF)
option(LANEPOOL_PLAIN_TESTS "Build the tests without Criterion, as plain programs" OFF)
option(LANEPOOL_CHECKS "Abort with a message at misuse that no status tells, as Debug builds do" OFF)
option(LANEPOOL_WERROR "Treat warnings as errors" OFF)
option(LANEPOOL_COVERAGE "Count which lines the tests reach" OFF)
set(LANEPOOL_SANITIZE "" CACHE STRING "Value for -fsanitize=, such as thread or address,undefined")

if(NOT LANEPOOL_SHARED AND NOT LANEPOOL_STATIC)
    message(FATAL_ERROR "lanepool: LANEPOOL_SHARED and LANEPOOL_STATIC are both off")
endif()
if(LANEPOOL_BUILD_TESTS AND NOT (LANEPOOL_SHARED AND LANEPOOL_STATIC))
    message(FATAL_ERROR "lanepool: the tests need LANEPOOL_SHARED and LANEPOOL_STATIC")
endif()

if(LANEPOOL_IS_TOP_LEVEL)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
    if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
        set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
    endif()
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    add_compile_options(-Wall -Wextra -Wshadow -Wconversion -Wundef
        $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>
        $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>)
    if(LANEPOOL_WERROR)
        add_compile_options(-Werror)
    endif()
    if(LANEPOOL_SANITIZE)
        # A finding must end the program, or a test that ignores stderr would pass.
        add_compile_options(-fsanitize=${LANEPOOL_SANITIZE} -fno-sanitize-recover=all
            -fno-omit-frame-pointer)
        add_link_options(-fsanitize=${LANEPOOL_SANITIZE})
    endif()
    if(LANEPOOL_COVERAGE)
        add_compile_options(--coverage -fprofile-update=atomic)
        add_link_options(--coverage)
    endif()
endif()
