#!/usr/bin/env bash
# Runs the server example and a batch within the limits of the units in docs/production.md.
#
#     limits.sh <source> <server example> <ledgerbatch>
set -euo pipefail

source=$1 server=$2 ledgerbatch=$3
page=$source/docs/production.md
command -v prlimit >/dev/null || { echo "skipped: prlimit is missing"; exit 77; }

# Prints the value of a limit in the n-th unit of the page, as prlimit takes it.
limit_of() {
    awk -v unit="$1" -v name="$2" '
        /^```ini$/ { units++ }
        units == unit && sub("^" name "=", "") { print; exit }' "$page" |
        sed 's/K$/*1024/; s/M$/*1024*1024/; s/G$/*1024*1024*1024/' | { read -r value; echo $((value)); }
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

prlimit --nofile="$(limit_of 1 LimitNOFILE)" --as="$(limit_of 1 LimitAS)" \
    --stack="$(limit_of 1 LimitSTACK)" --memlock="$(limit_of 1 LimitMEMLOCK)" \
    "$server" >"$folder/server.out"
diff "$source/demo/examples/server.out" "$folder/server.out"

"$ledgerbatch" generate smallbank --customers 500 --transactions 20000 --months 2 --seed 1 \
    >"$folder/books.journal"
for limits in none unit; do
    run=("$ledgerbatch" run --commutative 'Bank:*' --db "$folder/$limits.db" --out "$folder/$limits"
        "$folder/books.journal")
    if [ "$limits" = unit ]; then
        run=(prlimit --nofile="$(limit_of 2 LimitNOFILE)" --as="$(limit_of 2 LimitAS)" "${run[@]}")
    fi
    "${run[@]}" >"$folder/$limits.said"
done
diff -r "$folder/none" "$folder/unit"
echo "the server and the batch work within the limits of the units"
