#!/usr/bin/env bash
# Compiles the library for musl, warnings as errors, and runs a program that is linked to it.
#
#     musl.sh <source directory of the project>
set -euo pipefail

cd "$1"
if ! command -v musl-gcc >/dev/null; then
    echo "musl-gcc is not there (Debian: musl-tools)"
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# The headers of the kernel are not musl's; the glibc's must not be found first.
compile=(musl-gcc -std=c11 -O1 -pthread -Wall -Wextra -Werror -Iinclude -Isrc
    -idirafter /usr/include -idirafter "/usr/include/$(uname -m)-linux-gnu")
find src -name '*.c' -not -path 'src/adapters/*' -print0 |
    xargs -0 -P 2 -I{} sh -c 'out=$1/$(echo "$2" | tr / _).o; shift 2; "$@" -o "$out"' \
        sh "$place" {} "${compile[@]}" -c {}
"${compile[@]}" -static tests/build/consumer/main.c "$place"/*.o -o "$place/program"
"$place/program"
