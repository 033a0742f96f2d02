#!/usr/bin/env bash
# Lets a fuzz target look for new inputs for a while. An input that it fails with is kept.
#
#     run.sh <program> <corpus> <folder for findings> <seconds> [<folder for the inputs>]
#
# The last folder keeps inputs of interest for the next time; without it they are thrown away.
# Beside the corpora, <name>.dict may hold words of the target's language.
set -euo pipefail

program=$1 corpus=$2 folder=$3 seconds=$4
name=$(basename "$program")
dictionary=$(dirname "$0")/$name.dict
findings=$folder/findings
mkdir -p "$findings"
log=$(mktemp "$folder/log.XXXXXX")
if [ $# -gt 4 ]; then
    found=$5
    mkdir -p "$found"
    trap 'rm -f "$log"' EXIT
else
    found=$(mktemp -d "$folder/found.XXXXXX")
    trap 'rm -rf "$found" "$log"' EXIT
fi

arguments=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1
    -artifact_prefix="$findings/")
if [ -e "$dictionary" ]; then
    arguments+=(-dict="$dictionary")
fi
cp -r "$corpus/." "$found"

# What the target itself prints is not wanted; libFuzzer reports on standard error.
if ! "$program" "${arguments[@]}" "$found" >/dev/null 2>"$log"; then
    tail -n 60 "$log"
    input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
    echo "FAILED; to repeat it:"
    echo "$program ${input:-$corpus}"
    exit 1
fi
executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
echo "$name: $executions executions in $seconds s, no failure"
if [ -n "${LANEPOOL_TALLY:-}" ]; then
    printf '%s fuzz executions\n' "$executions" >>"$LANEPOOL_TALLY"
fi
