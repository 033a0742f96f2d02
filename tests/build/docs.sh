#!/usr/bin/env bash
# Builds the target docs, without a warning, and checks the links of its pages and that they list all
# calls.
#
#     docs.sh <project> <build directory>
set -euo pipefail

command -v doxygen >/dev/null && command -v python3 >/dev/null || exit 77
if ! output=$("${CMAKE:-cmake}" --build "$2" --target docs 2>&1); then
    tail -30 <<<"$output"
    exit 1
fi
python3 -B "$1/tests/build/links.py" "$2/docs/html"
for page in "$2"/docs/man/man3/*.3; do
    if grep -q '^\.SH THREADS' "$page" &&
        ! grep -q "$(basename "$page" .3)()" "$2"/docs/html/globals_func*.html; then
        echo "the index of calls lacks $(basename "$page" .3)"
        failed=1
    fi
done
exit ${failed:-0}
