#!/usr/bin/env bash
# Compares the interface with that of each release since 1.0, docs/abi/<version>-<machine>.xml, by
# the rules of docs/abi.md. Also shows that the comparison finds changes that break programs, and
# accepts changes that do not. Exits with 77 without abidw and abidiff.
#
#     abi.sh <project>             compares
#     abi.sh <project> describe    writes the interface, for a release
set -euo pipefail

project=$1
if ! command -v abidw >/dev/null || ! command -v abidiff >/dev/null; then
    echo "abidw or abidiff is missing"
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Structs without struct_size that the library only shows by a pointer. They may grow, too.
shown="lanepool_slow_task|lanepool_stall|lanepool_task_view|lanepool_snapshot|lanepool_parked_tasks"

# Writes <place>/<name>.xml: the functions and types of <place>/<name>/include. Builds a library of
# functions with empty bodies, because abidw takes minutes for the types inside the real one.
# build.symbols checks that the real one exports the same functions. Those of remote*.h are in a
# static library.
describe() { # describe <name>
    local include=$place/$1/include
    {
        echo '#include <lanepool/lanepool.h>'
        find "$include/lanepool" -maxdepth 1 -name '*.h' ! -name 'remote*.h' | sort |
            xargs sed '/^#/d' | tr '\n' ' ' | grep -oE 'LANEPOOL_API [^;{]*;' |
            sed 's/;$/ { __builtin_trap(); }/'
    } >"$place/$1.c"
    # The description names the source as the compiler was given it, so without the directory.
    (cd "$place" && "${CC:-cc}" -std=gnu11 -w -g -O0 -fPIC -shared -fvisibility=hidden \
        -I "$1/include" -Wl,--version-script="$1/map" "$1.c" -o "$1.so")
    timeout 60 abidw --no-corpus-path --no-comp-dir-path --no-show-locs --type-id-style hash \
        "$place/$1.so" >"$place/$1.xml"
}

# Writes "struct member offset type" for each member that is not reserved, and "struct size bits"
# for each struct that must not grow. Equal types have equal ids.
layout() { # layout <description>
    awk -F"'" -v shown="^($shown)$" '
        function value(key,  i) {
            for (i = 1; i < NF; i += 2) if ($i ~ " " key "=$") return $(i + 1)
        }
        /<class-decl / && !/is-declaration-only/ {
            name = value("name")
            size = value("size-in-bits")
            grows = name ~ shown
        }
        /<data-member / { offset = value("layout-offset-in-bits") }
        /<var-decl / && name && value("name") != "reserved" {
            print name, value("name"), offset, value("type-id")
        }
        /<var-decl / && value("name") == "struct_size" { grows = 1 }
        /<\/class-decl>/ { if (!grows) print name, "size", size; name = "" }' "$1" | sort
}

# Succeeds if programs built for the first interface run with the second. abidiff accepts the growth
# of structs by these rules, but also other changes of these structs; layout() finds those.
is_compatible() { # is_compatible <old> <new>
    local missing
    layout "$1" | awk '$2 == "struct_size" { print $1 }' | sort -u >"$place/growing"
    cat >"$place/rules" <<END
[suppress_type]
type_kind = struct
name_regexp = ^($(tr '\n' '|' <"$place/growing")$shown)$
has_data_member_inserted_at = end

[suppress_type]
type_kind = struct
has_data_member_inserted_at = offset_of(reserved)
END
    missing=$(comm -23 <(layout "$1") <(layout "$2"))
    if [ -n "$missing" ]; then
        echo "these members or sizes have changed: $missing" >"$place/differences"
        return 1
    fi
    abidiff --no-added-syms --suppressions "$place/rules" "$1" "$2" >"$place/differences" 2>&1
}

copy() { # copy <name>: a copy of the project's interface, which may be changed
    mkdir "$place/$1"
    cp -r "$project/include" "$place/$1"
    cp "$project/src/liblanepool.map" "$place/$1/map"
}

copy now
describe now
if [ "${2:-}" = describe ]; then
    cat "$place/now.xml"
    exit
fi

failed=0
for release in "$project"/docs/abi/*-"$(uname -m)".xml; do
    if [ -e "$release" ] && ! is_compatible "$release" "$place/now.xml"; then
        echo "programs built for ${release##*/} do not run with this library:"
        cat "$place/differences"
        failed=1
    fi
done

# Changes a line of a copy's header or map, and compares the copy with the project.
changed() { # changed <accepted|refused> <name> <file> <sed expression>
    local answer=accepted
    copy "$2"
    sed -i -E "$4" "$place/$2/$3"
    if diff -r "$place/now" "$place/$2" >/dev/null; then
        echo "$2: nothing was changed"
        failed=1
        return
    fi
    describe "$2"
    is_compatible "$place/now.xml" "$place/$2.xml" || answer=refused
    if [ "$answer" != "$1" ]; then
        echo "$2: the change is $answer, but should be $1"
        cat "$place/differences"
        failed=1
    fi
}

headers=include/lanepool
later='s/^\} lanepool_options;/    uint64_t later;\n&/'
if ! is_compatible "$place/now.xml" "$place/now.xml"; then
    echo "the interface differs from itself"
    failed=1
fi
changed accepted comment $headers/pool.h '1i/* text */'
changed accepted appended_member $headers/pool.h "$later"
changed accepted named_reserve $headers/pool.h \
    's/uint64_t reserved\[5\];/uint64_t named, reserved[4];/'
changed accepted added_status $headers/status.h \
    's/^    X\(OK, .*/&\n    X(LATER, 1000, "a later one") \\/'
changed accepted added_function $headers/status.h \
    's/^LANEPOOL_API const char \*lanepool_version/LANEPOOL_API int lanepool_added(void);\n&/'
changed refused removed_function $headers/status.h \
    's/^LANEPOOL_API (const char \*lanepool_version)/\1/'
changed refused parameter $headers/pool.h 's/(lanepool_pool_is_paused\()/\1int first, /'
changed refused parameter_type $headers/pool.h \
    's/(lanepool_pool_is_paused\()const lanepool_pool \*/\1long */'
changed refused moved_member $headers/task.h 's/^    size_t struct_size;/    uint64_t inserted;\n&/'
changed refused retyped_member $headers/pool.h "$later; s/uint64_t quantum_ns;/double quantum_ns;/"
changed refused grown_result $headers/future.h 's/^\} lanepool_result;/    uint64_t later;\n&/'
changed refused grown_statistics $headers/pool.h 's/uint64_t reserved\[5\];/uint64_t reserved[6];/'
changed refused status_value $headers/status.h 's/X\(NOMEM, 2,/X(NOMEM, 99,/'
exit $failed
