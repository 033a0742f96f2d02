#!/usr/bin/env bash
# Draws the pictures of this folder from the recordings of real pools that lie in it.
#
#     draw.sh [--record] <laneview> [<folder>]
#
# They go to the folder, or to this one. With --record the scenarios are run and recorded anew
# first: times differ a little each time, and so does which worker runs what. Then page.png, which
# shows the page in Chromium, is drawn anew, too.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
record=no
if [ "${1:-}" = --record ]; then
    record=yes
    shift
fi
laneview=$1
folder=${2:-$here}

if [ $record = yes ]; then
    "$laneview" record seed -o "$here/seed.recording"
    "$laneview" record latches -o "$here/latches.recording"
    "$laneview" record seed --layout worker -o "$here/per_worker.recording"
    "$laneview" record poisoned -o "$here/poisoned.recording"
    "$laneview" record month-end-cut -o "$here/month-end-cut.recording"
fi
mkdir -p "$folder"
for name in seed per_worker latches poisoned month-end-cut; do
    "$laneview" svg "$here/$name.recording" -o "$folder/$name.svg"
done

if [ $record = yes ] && command -v chromium >/dev/null; then
    page=$(mktemp --suffix .html)
    sandbox=()
    [ "$(id -u)" != 0 ] || sandbox=(--no-sandbox) # Chromium has no sandbox for root
    "$laneview" html "$here/poisoned.recording" -o "$page"
    chromium --headless "${sandbox[@]}" --window-size=1100,560 --hide-scrollbars \
        --screenshot="$folder/page.png" "file://$page#task=8"
    rm -f "$page"
fi

# Moments between what happens in the scenario at 10, 25, 40 and 60 ms.
if command -v dot >/dev/null; then
    for moment in 5 18 32 50 65; do
        "$laneview" dot --at ${moment}ms "$here/latches.recording" |
            dot -Tsvg -o "$folder/latches-$moment.svg"
    done
else
    echo "dot is not there (Debian: graphviz); the graphs are left out"
fi
