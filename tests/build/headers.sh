#!/usr/bin/env bash
# Every public header stands alone, in C11 and in C++17, without a warning.
#
#     headers.sh <include directory>
set -euo pipefail

include=$1
failed=0

check() { # check <compiler> <language> <standard> <header>
    # The declaration: a header of macros alone leaves an empty unit, which C11 does not allow.
    if ! printf '#include "%s"\nextern int stands_alone;\n' "$4" | "$1" -x "$2" -std="$3" -Wall -Wextra -Wshadow -Wconversion \
        -Wundef -Wpedantic -Werror -fsyntax-only -I"$include" -; then
        echo "$4 does not stand alone in $3"
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

exit $failed
