#!/usr/bin/env bash
# Checks that the guard can fail. A slower build must be above the library's record, and the library
# must be below a record that the slower build made.
#
#     guard_finds_changes.sh <python> <count_instructions> <the slower one>
set -euo pipefail

guard=$(cd "$(dirname "$0")" && pwd)/guard.py
python=$1 program=$2 slower=$3
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

guard() { # guard <program> <record> [option]
    "$python" -B "$guard" "$@" --workloads W1
}

expect() { # expect <exit status> <words> <guard's arguments>...
    local expected=$1 words=$2 status=0 said
    shift 2
    said=$(guard "$@") || status=$?
    if [ "$status" != "$expected" ] || ! grep -q "$words" <<<"$said"; then
        printf 'exit status %s, not %s with the words "%s", of: guard.py %s\n%s\n' \
            "$status" "$expected" "$words" "$*" "$said"
        failed=1
    fi
}

guard "$program" "$place/record" --write >/dev/null
guard "$slower" "$place/record_of_slower" --write >/dev/null
expect 0 'W1 .* submit' "$program" "$place/record"
expect 1 'ABOVE THE RECORD' "$slower" "$place/record"
expect 1 'BELOW THE RECORD' "$program" "$place/record_of_slower"
expect 77 'there is no record' "$program" "$place/none"
exit $failed
