#!/usr/bin/env bash
# Checks that the shared library has a static probe for each event, with the event's name.
#
#     probes.sh <include directory> <shared library>
set -euo pipefail

include=$1
shared=$2

if ! command -v readelf >/dev/null; then
    echo "readelf is not installed"
    exit 77
fi

events=$(grep -oE 'LANEPOOL_EVENT_[A-Z]+ = [0-9]+, */\*\*<|LANEPOOL_EVENT_NAME = [0-9]+' \
    "$include/lanepool/inspect.h" | sed -E 's/LANEPOOL_EVENT_([A-Z]+).*/\L\1/' | sort -u)
probes=$(readelf -n "$shared" | awk '$1 == "Provider:" { mine = $2 == "lanepool" }
    $1 == "Name:" && mine { print $2 }' | sort -u)

if ! diff <(echo "$events") <(echo "$probes"); then
    echo "events (<) and probes (>) differ"
    exit 1
fi
