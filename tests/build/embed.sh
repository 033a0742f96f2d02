#!/usr/bin/env bash
# Embeds the library in a project that has no build type, as FetchContent does. Checks that it builds
# one library, optimised, installs nothing of lanepool, and leaves the project's variables alone.
#
#     embed.sh <source directory of the project>
set -euo pipefail

source=$1
cmake=${CMAKE:-cmake}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

mkdir "$place/app"
cat >"$place/app/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES C)
include(FetchContent)
FetchContent_Declare(lanepool SOURCE_DIR $source)
FetchContent_MakeAvailable(lanepool)
add_executable(app main.c)
target_link_libraries(app PRIVATE lanepool::lanepool)
install(TARGETS app)
if(DEFINED CACHE{BUILD_SHARED_LIBS} AND NOT DEFINED ENV{ASKS_FOR_SHARED})
    message(FATAL_ERROR "lanepool has set BUILD_SHARED_LIBS")
endif()
END
cp "$(dirname "$0")/consumer/main.c" "$place/app/main.c"

embed() { # embed <build directory> <cmake option...>
    "$cmake" -S "$place/app" -B "$1" -G "Unix Makefiles" -DCMAKE_C_COMPILER="${CC:-cc}" "${@:2}" >/dev/null
    "$cmake" --build "$1" --parallel 2 >/dev/null
    "$1/app" >/dev/null
}

embed "$place/static"
flags=$place/static/_deps/lanepool-build/CMakeFiles/lanepool_objects.dir/flags.make
if ! grep -q -- '-O2' "$flags"; then
    echo "without a build type, the library is built without optimisation"
    exit 1
fi
"$cmake" --install "$place/static" --prefix "$place/prefix" >/dev/null
installed=$(cd "$place/prefix" && find . -type f | sort | tr '\n' ' ')
if [ "$installed" != "./bin/app " ]; then
    echo "a project that embeds lanepool installs: $installed"
    exit 1
fi

# expect_libraries <build directory> <pattern that must be there> <pattern that must not>
expect_libraries() {
    local built
    built=$(find "$1" -name 'liblanepool*')
    if ! grep -q "$2" <<<"$built" || grep -q "$3" <<<"$built"; then
        echo "wrong libraries were built: $built"
        exit 1
    fi
}
expect_libraries "$place/static" '\.a$' '\.so'
ASKS_FOR_SHARED=1 embed "$place/shared" -DBUILD_SHARED_LIBS=ON -DCMAKE_BUILD_TYPE=Debug
expect_libraries "$place/shared" '\.so' '\.a$'
