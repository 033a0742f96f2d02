#!/usr/bin/env bash
# Checks that every public header compiles on its own, in C11 and in C++17, without a warning;
# lanepool.hpp also in C++20, and without RTTI.
#
#     headers.sh <include directory>
set -euo pipefail

include=$1
failed=0

check() { # check <compiler> <language> <standard> <header> [option...]
    # The declaration is for headers that contain only macros: C11 does not allow an empty unit.
    if ! printf '#include "%s"\nextern int stands_alone;\n' "$4" | "$1" -x "$2" -std="$3" -Wall -Wextra -Wshadow -Wconversion \
        -Wundef -Wpedantic -Werror -fsyntax-only -I"$include" "${@:5}" -; then
        echo "$4 does not compile on its own in $3"
        failed=1
    fi
}

for header in "$include"/lanepool/*.h; do
    name=lanepool/$(basename "$header")
    check "${CC:-cc}" c c11 "$name"
    if command -v "${CXX:-c++}" >/dev/null; then
        check "${CXX:-c++}" c++ c++17 "$name"
    fi
done
for compiler in "${CXX:-c++}" clang++; do
    if [ -e "$include/lanepool/lanepool.hpp" ] && command -v "$compiler" >/dev/null; then
        check "$compiler" c++ c++17 lanepool/lanepool.hpp -fno-rtti
        check "$compiler" c++ c++20 lanepool/lanepool.hpp
    fi
done

exit $failed
