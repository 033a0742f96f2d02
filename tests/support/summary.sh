# shellcheck shell=bash
# Adds up the counts of test programs, which append lines "<count> <what>" to the file that
# LANEPOOL_TALLY names (tally.h).

# counted <file> <what>: prints the sum with thousands separators, or nothing if there is no count.
counted() {
    awk -v what="$2" '
        $1 ~ /^[0-9]+$/ { count = $1; sub(/^[0-9]+ /, ""); if ($0 == what) { sum += count; any = 1 } }
        END { if (any) printf "%.0f\n", sum }' "$1" |
        sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again'
}

# print_summary <file> <passed>: prints one line for each counted thing. Counts of a failed test are
# missing, so without <passed> the lines say nothing about violations.
print_summary() {
    local file=$1 passed=${2:-} what outcome count
    while IFS='|' read -r what outcome; do
        count=$(counted "$file" "$what")
        if [ -n "$count" ]; then
            echo "$count $what${passed:+$outcome}"
        fi
    done <<'END'
interleavings|, 0 violations
scenarios under every schedule|, within their bounds
tasks|
fault points|, all survived
fuzz executions|
model states|
planted bugs found|
batches of several nodes|, equal to serial runs
batches of several nodes on real threads|, equal to serial runs
END
}
