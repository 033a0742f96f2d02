#!/usr/bin/env bash
# Installs the library in a new directory, and builds programs against it: by find_package (shared
# and static), by pkg-config, and from C++.
#
#     consumer.sh <build directory of the project>
set -euo pipefail

build=$1
here=$(cd "$(dirname "$0")" && pwd)
cmake=${CMAKE:-cmake}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"$cmake" --install "$build" --prefix "$place/prefix" >/dev/null

for shared in ON OFF; do
    "$cmake" -S "$here/consumer" -B "$place/shared-$shared" -DCMAKE_PREFIX_PATH="$place/prefix" \
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
    local flags
    if [ ! -e "$place/prefix/include/lanepool/adapters/$1.h" ]; then
        echo "adapter $1 was not built"
        return
    fi
    "$cmake" -S "$here/consumer" -B "$place/$1" -DCMAKE_PREFIX_PATH="$place/prefix" \
        -DCMAKE_C_COMPILER="${CC:-cc}" -DADAPTER="$1" >/dev/null
    "$cmake" --build "$place/$1" >/dev/null
    "$place/$1/consumer"
    read -ra flags < <(pkg-config --cflags --libs "lanepool-$1")
    "${CC:-cc}" "$here/consumer/$1.c" -o "$place/$1-by-pkg-config" "${flags[@]}"
    LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$place/$1-by-pkg-config"
    if command -v "${CXX:-c++}" >/dev/null; then
        echo "#include <lanepool/adapters/$1.h>" |
            "${CXX:-c++}" -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only "${flags[@]}" -
    fi
}

if command -v pkg-config >/dev/null; then
    PKG_CONFIG_PATH=$(dirname "$(find "$place/prefix" -name lanepool.pc)")
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
    consume_adapter glib
    consume_adapter uv
fi
