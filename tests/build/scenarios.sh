#!/usr/bin/env bash
# Checks that every scenario of tests/SCENARIOS.md has its row, that every row has a test or says
# "Not yet: ...", and that every test named there is in the sources.
#
#     scenarios.sh <project>
set -euo pipefail

cd "$1"
scenario_count=73
failed=0

complain() {
    echo "SCENARIOS.md: $*"
    failed=1
}

is_there() { # is_there <name of a test>
    local program=${1%%.*} name=${1#*.}
    case $1 in
    simulated_scenarios/*)
        grep -qsE "^SCENARIO\(${1#*/}," tests/simulated/*.c tests/feature/*/scenarios*.c
        ;;
    model.spin_*)
        [ -f "tests/model/${name#spin_}.pml" ]
        ;;
    simulated.*)
        grep -qsF "lanepool_add_simulated_test($name " tests/simulator/CMakeLists.txt
        ;;
    */*)
        grep -qsE "^Test\(${name%%/*}, ${name#*/}\)" \
            "tests/$program/${name%%/*}.c" tests/feature/*/"$program"*.c
        ;;
    *)
        grep -qsE "^ *(add_test\(NAME $program\.$name|lanepool_add_[a-z]+_run\($name|ledgerbatch_add_script\($name)( |$)" \
            tests/CMakeLists.txt "tests/$program/CMakeLists.txt"
        ;;
    esac
}

check_row() { # check_row <number> <promise> <tests>
    local name names
    names=$(grep -oE '`[^`]+`' <<<"$3" | tr -d '`' || true)
    if [ -z "$names" ] && ! grep -qE '[Nn]ot yet: [a-z]' <<<"$2"; then
        complain "scenario $1 has no test"
    fi
    for name in $names; do
        is_there "$name" || complain "scenario $1 names $name, which does not exist"
    done
}

expected=1
while IFS='|' read -r _ number _ promise tests; do
    number=${number// /}
    if [ "$number" != "$expected" ]; then
        complain "row $number is where row $expected should be"
    fi
    check_row "$number" "$promise" "$tests"
    expected=$((number + 1))
done < <(grep -E '^\| *[0-9]+ *\|' tests/SCENARIOS.md)

if [ "$expected" -ne $((scenario_count + 1)) ]; then
    complain "the table ends with scenario $((expected - 1)), not $scenario_count"
fi
exit $failed
