#!/usr/bin/env bash
# Builds the target docs, without a warning. Then it checks the links, anchors and pictures of the site,
# and that its index lists all calls.
#
#     docs.sh <project> <build directory>
set -euo pipefail

if ! output=$("${CMAKE:-cmake}" --build "$2" --target docs 2>&1); then
    tail -30 <<<"$output"
    exit 1
fi
if [ ! -e "$2/docs/site/index.html" ]; then
    echo "skipped: the site is left out; it needs sphinx, furo and myst_parser"
    exit 77
fi
python3 -B "$1/tests/build/links.py" "$2/docs/site"
for page in "$2"/docs/man/man3/*.3; do
    if grep -q '^\.SH THREADS' "$page" &&
        ! grep -q "#c.$(basename "$page" .3)\"" "$2/docs/site/genindex.html"; then
        echo "the index of calls lacks $(basename "$page" .3)"
        failed=1
    fi
done
exit ${failed:-0}
