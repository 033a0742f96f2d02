# shellcheck shell=bash
# Adds up what test programs have counted. They append lines "<count> <what>" to the file that
# LANEPOOL_TALLY names (tally.h).

# counted <file> <what>: the sum, with thousands separators; nothing if it was not counted.
counted() {
    awk -v what="$2" '
        $1 ~ /^[0-9]+$/ { count = $1; sub(/^[0-9]+ /, ""); if ($0 == what) { sum += count; any = 1 } }
        END { if (any) printf "%.0f\n", sum }' "$1" |
        sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again'
}

# print_summary <file> <passed>: one line for each thing that was counted. What a failed test did
# not count is missing, so that without <passed> nothing is said about violations.
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
END
}
