#!/usr/bin/env bash
# Checks that README.md and docs/examples.md quote the examples word for word and contain no other C
# code, that the links of README.md lead somewhere, and that the tests that it names exist.
#
#     readme.sh <project>
set -euo pipefail

project=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Writes the nth block of C code in the pages to <place>/n.
code_blocks() { # code_blocks <page...>
    rm -f "$place"/[0-9]*
    awk -v place="$place" '
        /^```c$/ { n++; inside = 1; next }
        /^```/ { inside = 0 }
        inside { print > (place "/" n) }
    ' "$@"
}

# Checks that every example is quoted, and no other C code.
quotes_examples() { # quotes_examples <page>
    local example block good=0
    code_blocks "$1" "$project/docs/examples.md"
    for example in "$project"/demo/examples/*.c; do
        for block in "$place"/[0-9]*; do
            if cmp -s "$example" "$block"; then
                rm "$block"
                continue 2
            fi
        done
        echo "neither README.md nor docs/examples.md quotes ${example#"$project"/} word for word"
        good=1
    done
    for block in "$place"/[0-9]*; do
        if [ -e "$block" ]; then
            echo "README.md or docs/examples.md has C code that is no example:"
            head -3 "$block"
            good=1
        fi
    done
    return $good
}

# Checks the links. In a link [`name`](tests/...c) the name must be a test in that file.
links_lead_somewhere() { # links_lead_somewhere <page>
    local text target good=0
    while IFS=$'\t' read -r text target; do
        case $target in http*:* | '#'*) continue ;; esac
        target=${target%%#*}
        if [ ! -e "$project/$target" ]; then
            echo "README.md links to $target, which does not exist"
            good=1
        elif [[ $target == tests/*.c && $text == \`*\` ]] &&
            ! grep -q "^Test([a-z0-9_]*, ${text//\`/})" "$project/$target"; then
            echo "README.md names the test $text, which is not in $target"
            good=1
        fi
    done < <(grep -oE '\[[^]]+\]\([^)]+\)' "$1" | sed -E 's/^\[([^]]+)\]\(([^)]+)\)$/\1\t\2/')
    return $good
}

# Checks that this script can fail.
finds() { # finds <what> <sed script that makes it> <check>
    sed "$2" "$project/README.md" >"$place/README.md"
    if cmp -s "$project/README.md" "$place/README.md" || $3 "$place/README.md" >/dev/null; then
        echo "readme: does not find $1"
        failed=1
    fi
}

failed=0
quotes_examples "$project/README.md" || failed=1
links_lead_somewhere "$project/README.md" || failed=1
finds "a changed quotation" 's/lanepool_pool_destroy(pool);/lanepool_pool_end(pool);/' quotes_examples
finds "a missing quotation" '0,/^```c$/s/^```c$/```/' quotes_examples
finds "a dead link" 's|(docs/caveats.md|(docs/caveat.md|' links_lead_somewhere
finds "a wrong test" 's/`s1_/`s9_/' links_lead_somewhere
exit $failed
