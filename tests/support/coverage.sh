#!/usr/bin/env bash
# Runs the tests of a coverage build (preset coverage), and reports which lines and branches of src/
# they reach. Fails below 98 % of the lines or 95 % of the branches.
#
#     coverage.sh <build directory>
set -euo pipefail

build=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
command -v gcovr >/dev/null || { echo "gcovr is not installed"; exit 1; }

find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" --output-on-failure --parallel 2 --exclude-regex spin \
    -L 'unit|contract|model|simulated|stress'
report() {
    gcovr --root . --object-directory "$build" --filter src/ --exclude-unreachable-branches "$@"
}
report --branches
report --html-details "$build/coverage.html" --print-summary \
    --fail-under-line 98 --fail-under-branch 95
