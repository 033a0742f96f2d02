#!/usr/bin/env bash
# Checks that the shared library exports exactly the functions that the public headers declare, and
# that the static library defines only global names with the project's prefix. With a map, checks
# that it lists these functions, and that each is exported with the version of its node.
#
# The include directory can be one header instead, whose functions are then all.
#
#     symbols.sh <include directory or header> <shared library> <static library> [map]
set -euo pipefail

include=$1
shared=$2
static=$3
map=${4:-}
failed=0

# Functions of remote*.h are in a library of their own.
headers=("$include")
if [ -d "$include" ]; then
    mapfile -t headers < <(find "$include/lanepool" -maxdepth 1 -name '*.h' ! -name 'remote*.h')
fi
declared=$(cat "${headers[@]}" | grep -v '^#define' | tr '\n' ' ' | grep -oE 'LANEPOOL_API [^;{]*;' |
    sed -E 's/^[^(]*[ *](lanepool_[a-z0-9_]+) *\(.*/\1/' | sort -u)
exported=$(nm -D --defined-only "$shared" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
    sort -u)

if ! diff <(echo "$declared") <(echo "$exported") >/dev/null; then
    echo "declared (<) and exported (>) differ:"
    diff <(echo "$declared") <(echo "$exported") | grep '^[<>]' || true
    failed=1
fi

# Writes "function@@node" for each function of the map.
listed() {
    awk '/^[A-Z_0-9]+ \{/ { node = $1 }
         /^ +lanepool_/ { sub(/;.*/, "", $1); print $1 "@@" node }' "$map" | sort -u
}

if [ -n "$map" ]; then
    versioned=$(nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sort -u)
    if ! diff <(listed) <(echo "$versioned") >/dev/null; then
        echo "listed in $map (<) and exported (>) differ; add new functions to the latest node:"
        diff <(listed) <(echo "$versioned") | grep '^[<>]' || true
        failed=1
    fi
fi

if nm -g --defined-only "$static" | awk 'NF == 3 { print $3 }' |
    grep -vE '^lanepool_|^__|^\.|^_\.stapsdt\.base$' ; then # the last one: static probes
    echo "the static library defines these global names without the prefix"
    failed=1
fi

exit $failed
