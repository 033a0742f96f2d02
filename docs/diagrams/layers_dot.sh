#!/usr/bin/env bash
# Prints the drawing of the layers: layers.txt, and the includes that src/ really has.
#
#     layers_dot.sh <project>
#
# The test tests/build/layers.sh holds the one against the other. Drawn are a file's includes that
# do not follow from others, with name.h and name.c as one where one layer has both.
set -euo pipefail

cd "$1/src"
find . -name '*.[ch]' | sed 's|^\./||' | LC_ALL=C sort | while IFS= read -r file; do
    sed -nE 's/^ *# *include *"([^"]+)".*/\1/p' "$file" | while IFS= read -r included; do
        [ ! -f "$included" ] || echo "$file $included"
    done
done | awk -v table="../docs/diagrams/layers.txt" '
    BEGIN {
        print "digraph layers {"
        print "    rankdir=TB; ranksep=0.3; nodesep=0.15; newrank=true;"
        print "    fontname=\"Helvetica\";"
        print "    node [shape=box, style=\"rounded,filled\", fillcolor=white, height=0.28,"
        print "          margin=\"0.07,0.03\", fontname=\"Helvetica\", fontsize=11];"
        print "    edge [color=\"#8090a0\", arrowsize=0.5];"
        while ((getline line < table) > 0) {
            if (line !~ /^[a-z]/) continue
            count++
            layer[count] = line; sub(/:.*/, "", layer[count])
            sub(/^[^:]*:/, "", line)
            n = split(line, names, " ")
            for (i = 1; i <= n; i++) { node[names[i]] = 1; member[count, i] = names[i] }
            members[count] = n
        }
    }
    function of(file,    stem) {
        stem = file; sub(/\.[ch]$/, "", stem)
        return file in node ? file : stem
    }
    NF == 2 && of($1) != of($2) { edge[of($1), of($2)] = 1 }
    # Whether b is reached from a by another way than the edge itself. Two nodes may include each
    # other, each being a .h and a .c: what was passed is not passed again.
    function reaches(a, b,    pair, parts, passed, found) {
        passed[a] = 1
        do {
            found = 0
            for (pair in edge) {
                split(pair, parts, SUBSEP)
                if (!(parts[1] in passed) || parts[2] in passed) continue
                if (parts[1] == a && parts[2] == b) continue
                if (parts[2] == b) return 1
                passed[parts[2]] = found = 1
            }
        } while (found)
        return 0
    }
    END {
        for (l = 1; l <= count; l++) {
            printf "    subgraph cluster_%d {\n", l
            printf "        label=\"%s\"; labeljust=l; style=filled; color=\"#%s\";\n",
                layer[l], l % 2 ? "eef2f7" : "dfe6ee"
            for (i = 1; i <= members[l]; i++) printf "        \"%s\";\n", member[l, i]
            print "    }"
            # What keeps the layers one below the other.
            if (l == count) continue
            printf "    gap%d [shape=point, style=invis, height=0, width=0];\n", l
            for (i = 1; i <= members[l]; i++)
                printf "    \"%s\" -> gap%d [style=invis];\n", member[l, i], l
            for (i = 1; i <= members[l + 1]; i++)
                printf "    gap%d -> \"%s\" [style=invis];\n", l, member[l + 1, i]
        }
        for (pair in edge) {
            split(pair, parts, SUBSEP)
            if (!reaches(parts[1], parts[2]))
                printf "    \"%s\" -> \"%s\";\n", parts[1], parts[2] | "LC_ALL=C sort"
        }
        close("LC_ALL=C sort")
        print "}"
    }'
