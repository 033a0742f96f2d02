#!/usr/bin/env bash
# Builds programs against the installed library, and runs them: by find_package (shared and static),
# by pkg-config, and from C++.
#
#     consume_installed.sh <prefix>
set -euo pipefail

prefix=$1
here=$(cd "$(dirname "$0")" && pwd)
cmake=${CMAKE:-cmake}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

for shared in ON OFF; do
    "$cmake" -S "$here/consumer" -B "$place/shared-$shared" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="${CC:-cc}" -DBUILD_SHARED_LIBS=$shared >/dev/null
    "$cmake" --build "$place/shared-$shared" >/dev/null
    "$place/shared-$shared/consumer"
done
linked=$(ldd "$place/shared-ON/consumer")
if ! grep -q liblanepool <<<"$linked"; then
    echo "the consumer of the shared library is not linked to it"
    exit 1
fi
linked=$(ldd "$place/shared-OFF/consumer")
if grep -q liblanepool <<<"$linked"; then
    echo "the consumer of the static library is linked to the shared one"
    exit 1
fi

# Builds a program against an adapter, as a component of the package and by pkg-config.
consume_adapter() { # consume_adapter <name>
    local flags linked shared
    local header=lanepool/adapters/$1.h
    local library=liblanepool_$1
    if [ "$1" = remote ]; then # always static itself
        header=lanepool/remote.h library=liblanepool.so
    fi
    if [ ! -e "$prefix/include/$header" ]; then
        echo "adapter $1 was not built"
        return
    fi
    for shared in ON OFF; do
        "$cmake" -S "$here/consumer" -B "$place/$1-$shared" -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_C_COMPILER="${CC:-cc}" -DBUILD_SHARED_LIBS=$shared -DADAPTER="$1" >/dev/null
        "$cmake" --build "$place/$1-$shared" >/dev/null
        "$place/$1-$shared/consumer"
    done
    linked="$(ldd "$place/$1-ON/consumer") static: $(ldd "$place/$1-OFF/consumer")"
    if ! grep -q "$library" <<<"${linked% static: *}" || grep -q liblanepool <<<"${linked#* static: }"; then
        echo "a consumer of the adapter $1 is linked to libraries of the wrong kind: $linked"
        exit 1
    fi
    read -ra flags < <(pkg-config --cflags --libs "lanepool-$1")
    "${CC:-cc}" "$here/consumer/$1.c" -o "$place/$1-by-pkg-config" "${flags[@]}"
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$place/$1-by-pkg-config"
    if command -v "${CXX:-c++}" >/dev/null; then
        echo "#include <$header>" |
            "${CXX:-c++}" -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" -
    fi
}

if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name lanepool.pc)")
    export PKG_CONFIG_PATH
    read -ra flags < <(pkg-config --cflags --libs lanepool)
    "${CC:-cc}" -std=c11 "$here/consumer/main.c" -o "$place/by-pkg-config" "${flags[@]}"
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$place/by-pkg-config"
    # README's first program, as README has it.
    awk '/^```c$/ { inside = 1; next } /^```/ && inside { exit } inside' \
        "$here/../../README.md" >"$place/hello.c"
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$place/hello.c" -o "$place/hello" "${flags[@]}"
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$place/hello" |
        diff "$here/../../demo/tutorial/hello.out" -
    if command -v "${CXX:-c++}" >/dev/null; then
        "${CXX:-c++}" -std=c++17 -Wall -Wextra -Werror "$here/consumer/main.cpp" \
            -o "$place/from-cpp" "${flags[@]}"
        LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$place/from-cpp"
    fi
    consume_adapter remote
    consume_adapter glib
    consume_adapter uv
    consume_adapter pg
fi
