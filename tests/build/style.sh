#!/usr/bin/env bash
# Checks that files are formatted, not too long, finished, and free of paths of one machine.
#
#     style.sh <project>
set -euo pipefail

cd "$1"
lines_max=600
failed=0

# The brackets prevent matches in this file.
unfinished='TO[D]O|FIX[M]E|\bXX[X]\b|HA[C]K|\b[Ss]tu[b]s?\b'
foreign_paths='(^|[^A-Za-z0-9_.])/(hom[e]|roo[t]|wor[k]|User[s]|mn[t])/'

places=()
for place in src include tests demo docs debian cmake .ci CMakeLists.txt CMakePresets.json *.md; do
    if [ -e "$place" ]; then
        places+=("$place")
    fi
done
mapfile -t files < <(find "${places[@]}" -type f \
    -not -name '*.png' -not -name '*.svg' -not -name '*.pdf' | sort)
mapfile -t sources < <(printf '%s\n' "${files[@]}" | grep -E '\.[ch](pp)?$' || true)

complain() { # complain <what>, with the findings on standard input
    local findings
    findings=$(cat)
    if [ -n "$findings" ]; then
        echo "$1:"
        echo "$findings"
        failed=1
    fi
}

complain "longer than $lines_max lines" < <(
    for file in "${sources[@]}"; do
        lines=$(wc -l <"$file")
        [ "$lines" -le $lines_max ] || echo "$file: $lines"
    done)

complain "build products beside the sources" < <(
    find "${places[@]}" -name CMakeFiles -o -name '*.o' -o -name '*.a')
complain "unfinished" < <(grep -InE "$unfinished" "${files[@]}" || true)
complain "paths of one machine" < <(grep -InE "$foreign_paths" "${files[@]}" || true)
complain "white space at the end of a line" < <(
    grep -nE '[[:space:]]+$' "${sources[@]}" /dev/null || true)

# CTest finds the tests of a file by its suite, which has the file's name. In the folder of a feature
# the feature's name replaces "unit", "model" and "contract".
complain "suites that do not have the name of their file" < <(
    for file in $(find tests -name '*.c' -not -path 'tests/support/*' 2>/dev/null); do
        suite=$(sed -E 's:.*/feature/([^/]+)/(unit|model|contract)([^/]*\.c)$:\1\3:; s:.*/::; s:\.c$::' <<<"$file")
        grep -HnE '^Test\(' "$file" | grep -vE "Test\\($suite," || true
    done)

if command -v clang-format >/dev/null && [ ${#sources[@]} -gt 0 ]; then
    complain "not formatted by .clang-format" < <(
        for pair in '^[^i].*\.[ch] .clang-format' '^include/.*\.h .clang-format-include' \
            '\.[ch]pp .clang-format-cpp'; do
            printf '%s\n' "${sources[@]}" | { grep -E "${pair% *}$" || true; } |
                xargs -r clang-format --style=file:"${pair#* }" --dry-run --Werror 2>&1 |
                grep -E 'error:' | head -20 || true
        done)
else
    echo "clang-format is not installed; the format has not been checked"
fi

exit $failed
