#!/usr/bin/env bash
# Checks the model of the lane's protocol with Spin, and that its planted errors are found.
# Exits 77 where Spin is not installed.
set -euo pipefail

model=$(cd "$(dirname "$0")" && pwd)/lane.pml
command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# search OPTION...: prints the errors found, and leaves the whole report in `report`.
search() {
    spin -a "$@" "$model" >/dev/null
    cc -O2 -w -DSAFETY -DCOLLAPSE -DVECTORSZ=2048 -o pan pan.c
    ./pan -m400000 >report
    sed -n 's/.*errors: \([0-9]*\)$/\1/p' report
}

states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' report; }

failed=0
for bound in "-DENTRIES=4 -DFREEZES=2" "-DENTRIES=5 -DFREEZES=0"; do
    # shellcheck disable=SC2086
    errors=$(search $bound)
    echo "$bound: $(states) states, $errors errors"
    [ "$errors" = 0 ] || failed=1
done
for planted in 1 2 3; do
    if [ "$(search -DENTRIES=4 -DPLANTED=$planted)" = 0 ]; then
        echo "planted error $planted was not found"
        failed=1
    else
        echo "planted error $planted: found"
    fi
done
exit "$failed"
