#!/usr/bin/env bash
# Checks that the checks of this directory can fail: each gets a small project without a violation,
# and then projects with one violation each.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0
shopt -s nullglob

fresh() { # makes a project without a violation
    rm -rf "$place/p"
    mkdir -p "$place/p/src/platform" "$place/p/docs/diagrams" "$place/p/tests/unit" \
        "$place/p/tests/feature/good" "$place/p/include/lanepool"
    cp "$here"/../../.clang-format{,-cpp,-include} "$place/p/"
    mkdir -p "$place/p/src/high" "$place/p/src/low"
    printf 'high: above\nlow: below\nplatform: the door\n' >"$place/p/docs/diagrams/layers.txt"
    printf '#include "low/low.h"\n\nint lanepool_i_high(void);\n' >"$place/p/src/high/high.h"
    printf '/* Never calls malloc(). */\nint lanepool_i_low(void);\n' >"$place/p/src/low/low.h"
    printf 'int lanepool_i_high(void);\nint lanepool_i_high(void)\n{\n    return 1;\n}\n' \
        >"$place/p/src/high/high.c"
    printf '#include <pthread.h>\n' >"$place/p/src/platform/posix.c"
    printf 'Test(good, is_here)\n{\n}\n' >"$place/p/tests/unit/good.c"
    printf 'Test(good_part, is_here)\n{\n}\n' >"$place/p/tests/feature/good/contract_part.c"
    printf '#include <stddef.h>\n' >"$place/p/include/lanepool/good.h"
}

objects_in=src

check_layers() {
    # Objects have the paths of a build: <...>/src/<folder>/<file>.o, or <target>.dir/<folder>/<file>.o
    local source object objects=()
    rm -rf "$place/o"
    for source in "$place"/p/src/{high,low}/*.c; do
        object=$place/o/$objects_in/${source#"$place"/p/src/}.o
        mkdir -p "$(dirname "$object")"
        "${CC:-cc}" -w -I"$place/p/src" -c "$source" -o "$object"
        objects+=("$object")
    done
    python3 -B "$here/layers.py" "$place/p/src" "$place/p/docs/diagrams/layers.txt" \
        --public "$place/p/include/lanepool" "${objects[@]}"
}

check() { # check <name> <directory below the project>
    case $1 in
    layers) check_layers ;;
    names) python3 -B "$here/names.py" "$place/p/src" ;;
    prose) python3 -B "$here/prose.py" "$place/p" src ;;
    drawings) python3 -B "$drawn/draw.py" --check ;;
    documented) python3 -B "$here/documented.py" "$place/p" ;;
    options) python3 -B "$here/options.py" "$place/p" ;;
    links) python3 -B "$here/links.py" "$place/p/docs" ;;
    *) bash "$here/$1.sh" "$place/p$2" ;;
    esac
}

passes() { # passes <check> <directory below the project>
    if ! check "$1" "$2" >/dev/null 2>&1; then
        echo "$1: refuses a project without a violation"
        failed=1
    fi
}

finds() { # finds <what> <check> <directory below the project>
    if check "$2" "$3" >/dev/null 2>&1; then
        echo "$2: does not find $1"
        failed=1
    fi
    fresh
}

fresh
passes door ""
passes style ""
passes headers /include

echo 'void *p = malloc(3);' >>"$place/p/src/low/low.h"
finds "an allocation" door ""
echo '#include <pthread.h>' >>"$place/p/src/low/low.h"
finds "a system header" door ""
echo 'static _Thread_local int x;' >>"$place/p/src/low/low.h"
finds "a thread-local" door ""
echo 'int f(void) { return sem_post(0); }' >>"$place/p/src/low/low.h"
finds "a semaphore" door ""
if command -v clang >/dev/null; then
    echo '_Atomic int x; int f(void); int f(void) { return x; }' >>"$place/p/src/low/low.c"
    finds "an unnamed atomic operation" door ""
fi

if command -v python3 >/dev/null; then
    table=docs/diagrams/layers.txt
    low=src/low/low
    up_call='int lanepool_i_high(void); int lanepool_i_low(void) { return lanepool_i_high(); }'
    passes layers ""
    echo '#include "low/low.h"' >>"$place/p/$low.h"
    finds "a cycle of includes" layers ""
    echo '#include "high/high.h"' >>"$place/p/$low.c"
    finds "an include that points up" layers ""
    echo "$up_call" >>"$place/p/$low.c"
    finds "a call that points up" layers ""
    objects_in=program.dir
    passes layers ""
    echo "$up_call" >>"$place/p/$low.c"
    finds "a call that points up, in an object of a program" layers ""
    objects_in=src
    echo 'outside: high' >>"$place/p/$table"
    finds "an include of a folder outside" layers ""
    echo 'outside: high' >>"$place/p/$table"
    sed -i '/#include/d' "$place/p/src/high/high.h"
    echo 'int lanepool_i_low(void) { return 1; }' >>"$place/p/$low.c"
    passes layers ""
    echo 'int f(void) { return lanepool_i_low(); }' >>"$place/p/src/high/high.c"
    finds "a call of a folder outside" layers ""
    for i in 0 1 2 3; do
        echo "int f$(((i + 1) % 4))(void); int f$i(void) { return f$(((i + 1) % 4))(); }" \
            >"$place/p/src/high/f$i.c"
    done
    passes layers ""
    for i in 0 1 2 3 4; do
        echo "int f$(((i + 1) % 5))(void); int f$i(void) { return f$(((i + 1) % 5))(); }" \
            >"$place/p/src/high/f$i.c"
    done
    finds "five files that need one another" layers ""
    mkdir "$place/p/src/attic"
    echo 'int x;' >>"$place/p/src/attic/unknown.c"
    finds "a file whose folder is not in the table" layers ""
    printf 'struct lanepool_i_ways {\n    int (*way)(void);\n};\n' >>"$place/p/$low.h"
    finds "a struct of functions that is not in the table" layers ""
    echo 'table: low/low.h lanepool_i_ways 1 high' >>"$place/p/$table"
    finds "a row for a struct of functions that does not exist" layers ""
    echo 'LANEPOOL_API int lanepool_good(void);' >>"$place/p/include/lanepool/good.h"
    printf 'int lanepool_good(void)\n{\n    return 1;\n}\n' >>"$place/p/src/high/other.c"
    finds "a public function in a file of another name" layers ""
    echo 'LANEPOOL_API int lanepool_good(void);' >>"$place/p/include/lanepool/good.h"
    printf 'int lanepool_good(void)\n{\n    return 1;\n}\n' >>"$place/p/src/high/good_part.c"
    passes layers ""
    fresh
fi

if command -v python3 >/dev/null; then
    passes names ""
    printf 'static int look(void)\n{\n    return 1;\n}\n' >"$place/p/src/low/low.c"
    finds "a name of one word" names ""
    cp "$place/p/src/high/high.c" "$place/p/src/low/low.c"
    finds "a name that two files have" names ""
    echo '/* Takes a task from the ring. */' >>"$place/p/src/low/low.h"
    passes prose ""
    echo '/* Who lies down is to''ld by whoever comes. */' >>"$place/p/src/low/low.h"
    finds "a sentence to be read twice" prose ""
fi

# Makes a project whose pools have two options, which are paired.
fresh_options() {
    fresh
    mkdir "$place/p/tests/contract"
    printf '%s\n' 'typedef struct lanepool_options {' '    size_t struct_size; /**< its; size */' \
        '    unsigned workers;' '    lanepool_layout layout;' '} lanepool_options;' \
        >"$place/p/include/lanepool/pool.h"
    printf '%s\n' 'static const struct setting settings[] = {' \
        '    { "workers", "more", ANY, { .workers = 3 } },' '};' 'options.layout = sort;' \
        >"$place/p/tests/contract/option_pairs.c"
}

if command -v python3 >/dev/null; then
    fresh_options
    passes options ""
    sed -i 's/    unsigned workers;/&\n    bool later;/' "$place/p/include/lanepool/pool.h"
    finds "an option without a row" options ""
fi

# Makes a project with one drawing, which is missing.
fresh_drawing() {
    fresh
    drawn=$place/p/docs/diagrams
    cp "$here/../../docs/diagrams/draw.py" "$drawn/"
    echo 'digraph a { b -> c }' >"$drawn/a.dot"
}

if command -v python3 >/dev/null && command -v dot >/dev/null; then
    fresh_drawing
    finds "a missing drawing" drawings ""
    fresh_drawing
    python3 -B "$drawn/draw.py"
    passes drawings ""
    echo 'digraph a { b -> d }' >"$drawn/a.dot"
    finds "a drawing that is older than its source" drawings ""
    fresh_drawing
    python3 -B "$drawn/draw.py"
    echo 'int x;' >"$place/p/src/low/more.h"
    finds "a drawing that lacks an added file" drawings ""
fi

# Makes a project with one public call, whose comment has all that users need.
fresh_call() {
    fresh
    header=$place/p/include/lanepool/good.h
    mkdir "$place/p/docs/reference"
    cp "$here/../../docs/reference/headers.py" "$place/p/docs/reference/"
    echo '    X(OK, 0, "success") X(INVALID, 1, "an argument is wrong")' \
        >"$place/p/include/lanepool/status.h"
    printf '%s\n' '/**' ' * @defgroup good Good' ' * Calls.' ' * @{' ' */' '' '/**' ' * Does it.' \
        ' * @param count How many.' ' * @also INVALID' \
        ' * @threads Any thread. @complexity O(1).' ' */' \
        'LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status' \
        'lanepool_good(int count, int wait_max_ns);' >"$header"
}

if command -v python3 >/dev/null; then
    fresh_call
    passes documented ""
    for line in @param @also @threads @defgroup; do
        sed -i "/$line/d" "$header"
        finds "a call without $line" documented ""
        fresh_call
    done
    echo 'LANEPOOL_API void lanepool_other(void);' >>"$header"
    finds "a call without a comment" documented ""
    fresh_call
    sed -i 's/How many/As docs\/nowhere.md says/' "$header"
    finds "a page that does not exist" documented ""

    echo '<a id="here" href="a.html#here"></a>' >"$place/p/docs/a.html"
    passes links ""
    echo '<a href="a.html#there"></a>' >>"$place/p/docs/a.html"
    finds "a link to an anchor that does not exist" links ""
    echo '<img src="b.svg"/>' >"$place/p/docs/a.html"
    finds "a picture that does not exist" links ""
fi

echo '/* TO''DO */' >>"$place/p/src/low/low.h"
finds "unfinished work" style ""
echo '/* see /ho''me/someone */' >>"$place/p/src/low/low.h"
finds "a path of one machine" style ""
mkdir "$place/p/tests/CMakeFiles"
finds "build products" style ""
printf 'int  x ;\n' >>"$place/p/src/low/low.h"
if command -v clang-format >/dev/null; then
    finds "bad format" style ""
    printf 'int  x ;\n' >"$place/p/src/low/low.hpp"
    finds "bad format of C++" style ""
fi
fresh
for _ in {1..601}; do echo 'int lanepool_i_x(void);'; done >"$place/p/src/low/low.h"
finds "a long file" style ""
printf 'Test(other, is_here)\n{\n}\n' >"$place/p/tests/unit/good.c"
finds "a wrong suite name" style ""
printf 'Test(contract_part, is_here)\n{\n}\n' >"$place/p/tests/feature/good/contract_part.c"
finds "a wrong suite name in the folder of a feature" style ""

echo 'size_t lanepool_size(void); uint32_t x;' >"$place/p/include/lanepool/good.h"
finds "a header that needs another one" headers /include

last=$(sed -n 's/^scenario_count=//p' "$here/scenarios.sh")

# Writes a table of scenarios: the first row names tests of every form, the others one test each.
scenarios() {
    mkdir -p "$place/p/tests/simulated" "$place/p/tests/stress"
    printf 'SCENARIO(turn, RANDOM)\n{\n}\n/* not this_one */\n' >"$place/p/tests/simulated/turns.c"
    printf 'SCENARIO(move, RANDOM)\n{\n}\n' >"$place/p/tests/feature/good/scenarios.c"
    echo 'lanepool_add_stress_run(long long --tasks 3)' >"$place/p/tests/stress/CMakeLists.txt"
    echo '| 1 | s | p | `unit.good/is_here`, `contract.good_part/is_here`, `stress.long` | `simulated_scenarios/turn`, `simulated_scenarios/move` | | |'
    for ((row = 2; row < last; row++)); do
        echo "| $row | s | p | \`unit.good/is_here\` | | | |"
    done
    echo "| $last | s | Not yet: timers | | | | |"
} >"$place/p/tests/SCENARIOS.md"

scenarios
passes scenarios ""
scenarios_lack() { # scenarios_lack <what> <sed script that removes it>
    scenarios
    sed -i "$2" "$place/p/tests/SCENARIOS.md"
    finds "$1" scenarios ""
}
scenarios_lack "the last scenario" "${last}d"
scenarios_lack "a missing scenario" 7d
scenarios_lack "a scenario without a test" '7s/`.*`//'
scenarios_lack "a missing feature without a name" 's/Not yet: timers/Not yet/'
scenarios_lack "a test that does not exist" '7s/is_here/is_gone/'
scenarios_lack "a suite that does not exist" '7s/good/bad/'
scenarios_lack "a suite of a feature that does not exist" '1s/good_part/bad/'
scenarios_lack "a program that CTest does not know" '1s/long/lon/'
scenarios_lack "a simulated test that does not exist" '1s/turn/tur/'
scenarios_lack "a simulated test of a feature that does not exist" '1s/move/mov/'
scenarios_lack "a simulated test that only a comment names" '1s/turn/this_one/'

# Makes a library that declares one function. Succeeds if its symbols are right.
symbols_find() { # symbols_find <what> <source of the library>
    fresh
    echo 'LANEPOOL_API int lanepool_one(void);' >"$place/p/include/lanepool/good.h"
    echo "$2" >"$place/one.c"
    "${CC:-cc}" -shared -fPIC "$place/one.c" -o "$place/one.so"
    "${CC:-cc}" -c "$place/one.c" -o "$place/one.o"
    ar rcs "$place/one.a" "$place/one.o" 2>/dev/null
    bash "$here/symbols.sh" "$place/p/include" "$place/one.so" "$place/one.a" >/dev/null 2>&1
}
if ! symbols_find "nothing" 'int lanepool_one(void) { return 1; }'; then
    echo "symbols: refuses a library without a violation"
    failed=1
fi
echo 'LANEPOOL_1 {' >"$place/empty.map"
if bash "$here/symbols.sh" "$place/p/include" "$place/one.so" "$place/one.a" "$place/empty.map" \
    >/dev/null 2>&1; then
    echo "symbols: does not find a function that the map lacks"
    failed=1
fi
for bad in 'int lanepool_one(void) { return 1; } int lanepool_i_two(void) { return 2; }' \
    'int lanepool_two(void) { return 2; }' \
    'int lanepool_one(void) { return 1; } __attribute__((visibility("hidden"))) int two;'; do
    if symbols_find "a bad name" "$bad"; then
        echo "symbols: does not find the violation in: $bad"
        failed=1
    fi
done

exit $failed
