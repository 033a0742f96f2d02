#!/usr/bin/env bash
# Checks one of the models here with Spin. Each of its bounds must be searched to the end without
# an error, and every planted error must be found.
#
#     check.sh <model> [--deep]
#
# With --deep, searches the large bounds, too. Exits with 77 if Spin is not installed. If
# LANEPOOL_TALLY is set, appends the number of states to the file that it names.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
model=$1
deep=${2:-}
memory_mb=2000
depth_max=100000

# Prints the bounds of the model, each after the compiler's option for its search. Optimizing takes
# up to 30 seconds, longer than a search of less than about eight million states. "deep" stands
# before bounds that take many seconds.
bounds() {
    case $model in
    inbox_role)
        cat <<'END_BOUNDS'
deep -O1 -DFIRST=1 -DLONG=0
-O0 -DSUBMITTERS=1 -DEACH=2 -DFIRST=1 -DNODES=2 -DLONG=1
-O0 -DSUBMITTER_ROUTES=1 -DWORKERS=1 -DFIRST=1 -DLONG=NOTHING
-O0 -DSUBMITTER_ROUTES=1 -DSUBMITTERS=1 -DEACH=2 -DFIRST=1 -DLONG=0
-O0 -DSUBMITTER_ROUTES=1 -DSUBMITTERS=1 -DEACH=2 -DREAP=1 -DLONG=0
-O0 -DSUBMITTER_ROUTES=1 -DSUBMITTERS=3 -DCLOSE=1
END_BOUNDS
        ;;
    lane)
        cat <<'END_BOUNDS'
-O0 -DENTRIES=4 -DFREEZES=2
-O0 -DENTRIES=5 -DFREEZES=0
-O0 -DENTRIES=3 -DFREEZES=1 -DMODES=3
-O0 -DENTRIES=4 -DFREEZES=0 -DMODES=3
-O0 -DENTRIES=2 -DFREEZES=0 -DGATES=2
-O0 -DENTRIES=3 -DFREEZES=0 -DGATES=1 -DTOMBSTONES=1
-O0 -DENTRIES=3 -DFREEZES=0 -DGATES=1 -DPARKS=1
-O0 -DENTRIES=3 -DFREEZES=0 -DTOMBSTONES=2
-O0 -DENTRIES=3 -DFREEZES=0 -DTOMBSTONES=1 -DPARKS=1
-O0 -DENTRIES=4 -DFREEZES=0 -DPARKS=1
deep -O0 -DENTRIES=4 -DFREEZES=0 -DTOMBSTONES=1
END_BOUNDS
        ;;
    lane_latch)
        cat <<'END_BOUNDS'
-O1 -DTASKS=3
END_BOUNDS
        ;;
    sleep_wake)
        cat <<'END_BOUNDS'
-O1 -DPUBLISHERS=2
-O0 -DPUBLISHERS=1 -DBATCH=3 -DRING=3
-O0 -DPUBLISHERS=1 -DBATCH=2 -DRING=1 -DEACH=2
-O0 -DPUBLISHERS=1 -DEACH=2 -DNAPS=1
-O0 -DPUBLISHERS=1 -DNAPS=1 -DSTOP_EARLY=1
deep -O1 -DPUBLISHERS=1 -DBATCH=3 -DRING=2 -DWORKERS=3
-O0 -DPUBLISHERS=2 -DEACH=2 -DPINNED=1
-O0 -DPUBLISHERS=1 -DSTOP_EARLY=1
deep -O1 -DRESIDENT=1 -DPUBLISHERS=2
-O0 -DRESIDENT=1 -DPUBLISHERS=1 -DEACH=2
-O0 -DRESIDENT=1 -DPUBLISHERS=1 -DEACH=2 -DFAILS=1
-O0 -DRESIDENT=1 -DPUBLISHERS=1 -DSTOP_EARLY=1
END_BOUNDS
        ;;
    pinned)
        cat <<'END_BOUNDS'
-O1 -DTASKS=4
-O0 -DTASKS=2 -DPAUSE=1
deep -O1 -DTASKS=3 -DPAUSE=1
END_BOUNDS
        ;;
    shutdown)
        cat <<'END_BOUNDS'
-O0 -DSTOPPERS=2
-O0 -DSTOPPERS=1 -DAWAITERS=2
deep -O0 -DSTOPPERS=1 -DSUBMITTERS=2
deep -O0 -DSTOPPERS=1 -DWORKERS=2
-O0 -DSTOPPERS=2 -DSUBMITTERS=0 -DCALLER=1
deep -O0 -DSTOPPERS=1 -DQUIESCE=1
END_BOUNDS
        ;;
    visits)
        cat <<'END_BOUNDS'
-O0 -DCANCEL=1
-O0 -DFAILS=2
-O0 -DFAILS=1 -DRETRIES=0 -DCANCEL=1
-O0 -DLEAVES=2 -DCANCEL=1
-O0 -DFAILS=1 -DLEAVES=1 -DCANCEL=1
-O0 -DVISITORS=3 -DWORKERS=3
-O0 -DSLOW=1
-O0 -DSLOW=1 -DVISITORS=3 -DWORKERS=3
END_BOUNDS
        ;;
    *)
        echo "no model $model" >&2
        return 1
        ;;
    esac
}

# Prints the planted errors of the model, each with the bound within which it must be found.
planted_errors() {
    case $model in
    inbox_role)
        for number in 1 2 3 4 5 6 8 9 10; do
            echo "-DPLANTED=$number -DFIRST=1 -DLONG=0"
        done
        echo "-DPLANTED=7 -DSUBMITTER_ROUTES=1 -DCLOSE=1"
        ;;
    lane)
        for number in 1 2 3; do
            echo "-DPLANTED=$number -DENTRIES=4"
        done
        for number in 4 5 6; do
            echo "-DPLANTED=$number -DENTRIES=2 -DFREEZES=0 -DGATES=1"
        done
        echo "-DPLANTED=7 -DENTRIES=4 -DFREEZES=0 -DTOMBSTONES=2"
        for number in 8 9 10 11 12; do
            echo "-DPLANTED=$number -DENTRIES=4 -DFREEZES=0 -DPARKS=1"
        done
        echo "-DPLANTED=13 -DENTRIES=3 -DFREEZES=0 -DTOMBSTONES=1"
        ;;
    lane_latch)
        for number in 1 2 3 4 5; do
            echo "-DPLANTED=$number"
        done
        ;;
    sleep_wake)
        for number in 1 2 3 4 5 6 7; do
            echo "-DPLANTED=$number"
        done
        for number in 8 9 10; do
            echo "-DPLANTED=$number -DRESIDENT=1 -DPUBLISHERS=1 -DEACH=2"
        done
        echo "-DPLANTED=11 -DPUBLISHERS=1 -DEACH=2 -DNAPS=1"
        ;;
    pinned)
        for number in 1 2 3 4 5; do
            echo "-DPLANTED=$number"
        done
        echo "-DPLANTED=6 -DTASKS=2 -DPAUSE=1"
        ;;
    shutdown)
        for number in 1 2 3 4; do
            echo "-DPLANTED=$number"
        done
        echo "-DPLANTED=5 -DSTOPPERS=1 -DSUBMITTERS=0 -DCALLER=1"
        echo "-DPLANTED=6 -DSTOPPERS=1 -DQUIESCE=1"
        echo "-DPLANTED=7 -DSTOPPERS=1 -DSUBMITTERS=0 -DCALLER=1"
        echo "-DPLANTED=8 -DSTOPPERS=1 -DQUIESCE=1"
        ;;
    visits)
        for number in 1 2 3 4 5 6 8; do
            echo "-DPLANTED=$number"
        done
        echo "-DPLANTED=7 -DLEAVES=3"
        for number in 9 10; do
            echo "-DPLANTED=$number -DSLOW=1"
        done
        ;;
    esac
}

# search <option for the compiler> -D...: searches one bound, and writes Spin's output to `report`.
# Compressing the states (COLLAPSE) takes time, and only large searches need it. Where nothing is
# optimized, Clang compiles in half of GCC's time.
search() {
    local options=("$1") compiler=cc
    if [ "$1" = -O1 ]; then
        options+=(-DCOLLAPSE)
    elif command -v clang >/dev/null; then
        compiler=clang
    fi
    shift
    spin -a "$@" "$here/$model.pml" >report
    "$compiler" "${options[@]}" -w -DSAFETY -DMEMLIM=$memory_mb -DVECTORSZ=2048 -o pan pan.c
    ./pan -m$depth_max -w24 >>report 2>&1 || true
}

states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' report; }
errors() { sed -n 's/.*errors: \([0-9]*\)$/\1/p' report; }
is_cut_short() {
    grep -qE 'search depth too small|not completed|reached -DMEMLIM|out of memory' report
}

command -v spin >/dev/null || { echo "spin is not installed"; exit 77; }
all_bounds=$(bounds)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

failed=0
total=0
while read -r -a bound; do
    if [ "${bound[0]}" = deep ]; then
        [ "$deep" = --deep ] || continue
        bound=("${bound[@]:1}")
    fi
    began=$EPOCHREALTIME
    search "${bound[@]}"
    seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $began }")
    if [ "$(errors)" = 0 ] && ! is_cut_short; then
        echo "${bound[*]:1}: $(states) states, $seconds s, no error"
        total=$((total + $(states)))
    else
        echo "${bound[*]:1}: $(states) states, $seconds s, FAILED:"
        grep -E '^pan|^spin|error|completed|too small' report || tail -5 report
        failed=1
    fi
done <<<"$all_bounds"

while read -r -a options; do
    search -DT_REVERSE "${options[@]}" # the reverse order finds these sooner
    if [ "$(errors)" = 1 ]; then
        echo "${options[*]}: found after $(states) states"
    else
        echo "${options[*]}: NOT FOUND"
        failed=1
    fi
done < <(planted_errors)

if [ -n "${LANEPOOL_TALLY:-}" ] && [ "$failed" = 0 ]; then
    echo "$total model states" >>"$LANEPOOL_TALLY"
fi
exit "$failed"
