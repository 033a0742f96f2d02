#!/usr/bin/env bash
# Checks that every public header compiles on its own, in C11 and in C++17, without a warning. With GCC
# and with Clang, all of them compile in C11, C17 and C23, and in C++11 to C++23; lanepool.hpp from C++17
# on, also without RTTI. A standard that a compiler does not know is left out.
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

knows() { # knows <compiler> <language> <standard>
    command -v "$1" >/dev/null && "$1" -x "$2" -std="$3" -fsyntax-only /dev/null 2>/dev/null
}

# All headers, in the other standards.
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for header in "$include"/lanepool/*.h; do
    printf '#include "lanepool/%s"\n' "$(basename "$header")"
done >"$place/all_headers.h"
for compiler in gcc clang; do
    for standard in c11 c17 c2x; do
        if knows "$compiler" c $standard; then
            check "$compiler" c $standard all_headers.h -I"$place"
        fi
    done
done
for compiler in g++ clang++; do
    for standard in c++11 c++14 c++17 c++20 c++2b; do
        if ! knows "$compiler" c++ $standard; then
            continue
        fi
        check "$compiler" c++ $standard all_headers.h -I"$place"
        if [[ $standard != c++1[14] && -e $include/lanepool/lanepool.hpp ]]; then
            check "$compiler" c++ $standard lanepool/lanepool.hpp
            check "$compiler" c++ $standard lanepool/lanepool.hpp -fno-rtti
        fi
    done
done

exit $failed
