#!/usr/bin/env bash
# Builds the library for another system, warnings as errors, and runs the tests of the public headers'
# contract there, as plain programs.
#
#     contract_on.sh <project> musl               all of them, and a static program
#     contract_on.sh <project> aarch64            some of them, and the examples, by qemu
#     contract_on.sh <project> aarch64 --whole    all that qemu can run
set -euo pipefail

project=$1
system=$2
here=$(cd "$(dirname "$0")" && pwd)
source "$here/tools.sh"

# What qemu cannot do, and not a fault of the library: threads in a child of fork(); limits on the
# address space; a message of abort() that is alone on stderr; a signal mask that has all signals.
not_by_qemu='contract\.(forked_locks|forked_pools|forks|resource_limits|signals|check)'
# ThreadSanitizer, and a check that runs the program without qemu.
not_by_qemu+='|example\.(undeclared|metrics_format)'
options=(-DLANEPOOL_BUILD_DEMO=OFF)
targets=(contract)
selected=(-L '^contract$')
case $system in
musl)
    need musl-gcc
    ;;
aarch64)
    need aarch64-linux-gnu-gcc qemu-aarch64
    if [ ! -e /usr/aarch64-linux-gnu/include/stdio.h ]; then
        echo "the C library for aarch64 is missing"
        exit 77
    fi
    options=()
    targets=(contract all_examples)
    if [ "${3:-}" = --whole ]; then
        selected=(-L '^(contract|example)$' -E "^($not_by_qemu)$")
    else
        selected=(-R '^(contract\.(keys|rule|scope|futures|group|priority|commuting|cut)$|example\.)'
            -E "^($not_by_qemu)$")
    fi
    ;;
esac
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"${CMAKE:-cmake}" -S "$project" -B "$place" -G 'Unix Makefiles' -DLANEPOOL_WERROR=ON \
    -DCMAKE_TOOLCHAIN_FILE="$here/$system.cmake" -DLANEPOOL_PLAIN_TESTS=ON \
    -DLANEPOOL_TEST_PARTS=contract -DLANEPOOL_BUILD_DOCS=OFF -DLANEPOOL_BUILD_ADAPTERS=OFF \
    "${options[@]}" >"$place/log" 2>&1 || { tail -20 "$place/log" && exit 1; }
"${CMAKE:-cmake}" --build "$place" --parallel 2 --target "${targets[@]}" lanepool_static \
    >"$place/log" 2>&1 || { grep -E 'error|warning|\*\*\*' "$place/log" || tail -20 "$place/log"; exit 1; }

if [ "$system" = musl ]; then
    musl-gcc -std=c11 -static -I "$project/include" "$project/tests/build/consumer/main.c" \
        "$place/liblanepool.a" -o "$place/program"
    "$place/program"
fi
# Tests on real threads have deadlines; two at once are enough for them.
ctest --test-dir "$place" --output-on-failure --parallel 2 "${selected[@]}" >"$place/log" 2>&1 ||
    { tail -200 "$place/log" && exit 1; }
tail -12 "$place/log" | grep -E 'tests passed|Total'
