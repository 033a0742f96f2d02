#!/usr/bin/env bash
# The include graph of src/ has no cycle and only points down.
#
#     layers.sh <project>
#
# docs/diagrams/layers.txt names the layers from top to bottom, one a line: "layer: name name ...".
# A name stands for name.h and name.c; with its ending, for that file alone.
set -euo pipefail

project=$1
table=$project/docs/diagrams/layers.txt

if [ ! -f "$table" ]; then
    echo "there is no $table"
    exit 77
fi

includes() { # prints "file included" for every include of a file of src/
    cd "$project/src"
    find . -name '*.[ch]' | sed 's|^\./||' | sort | while IFS= read -r file; do
        sed -nE 's/^ *# *include *"([^"]+)".*/\1/p' "$file" | while IFS= read -r included; do
            for place in "$(dirname "$file")/$included" "$included"; do
                if [ -f "$place" ]; then
                    echo "$file ${place#./}"
                    break
                fi
            done
        done
    done
}

edges=$(includes)
failed=0

if [ -n "$edges" ] && ! cycle=$(tsort <<<"$edges" 2>&1 >/dev/null); then
    echo "the include graph has a cycle:"
    echo "$cycle"
    failed=1
fi

# Every file must be in the table, and must not include a file of a higher layer.
if ! awk -v table="$table" '
    function layer(file,    stem) {
        stem = file
        sub(/\.[ch]$/, "", stem)
        return file in level ? level[file] : level[stem]
    }
    BEGIN {
        while ((getline line < table) > 0) {
            if (line !~ /^[a-z]/) continue
            count++
            sub(/^[^:]*:/, "", line)
            n = split(line, names, " ")
            for (i = 1; i <= n; i++) level[names[i]] = count
        }
    }
    NF == 1 && !layer($1) { print $1 " is in no layer of the table"; bad = 1 }
    NF == 2 && layer($1) && layer($2) && layer($2) < layer($1) {
        print $1 " includes " $2 ", which is in a higher layer"
        bad = 1
    }
    END { exit bad }
' <<<"$edges
$(cd "$project/src" && find . -name '*.[ch]' | sed 's|^\./||')"; then
    failed=1
fi

exit $failed
