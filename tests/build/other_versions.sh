#!/usr/bin/env bash
# Runs programs with the library of another release, as docs/abi.md promises. Generates a later
# release: in its headers each struct that carries its size has a member more.
#
#     other_versions.sh <project> <shared library>
set -euo pipefail

project=$1
library=$2
here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

# Adds a member at the end of each struct that has a member struct_size.
add_members() { # add_members <header>
    awk '/^typedef struct|^struct/ { sized = 0 }
         /size_t struct_size;/ { sized = 1 }
         /^}/ && sized { print "    uint64_t later;"; sized = 0; grown++ }
         { print }
         END { print grown + 0 >"/dev/stderr" }' "$1" 2>>"$place/grown" >"$place/header"
    mv "$place/header" "$1"
}

mkdir "$place/later" "$place/now"
cp -r "$project/include" "$project/src" "$place/later"
for header in "$place"/later/include/lanepool/*.h; do
    add_members "$header"
done
grown=$(awk '{ sum += $1 } END { print sum }' "$place/grown")
declared=$(grep -h 'size_t struct_size;' "$project"/include/lanepool/*.h | wc -l)
if [ "$grown" -ne "$declared" ] || [ "$grown" -eq 0 ]; then
    echo "$declared structs carry their size, and $grown got a member"
    exit 1
fi
# A later release names its last members in these assertions.
sed -i 's/sizeof(type) == LANEPOOL_I_SIZE_WITH(type, last)/1/' "$place/later/src/base/versioned.h"

build_library() { # build_library <release>
    local sources
    mapfile -t sources < <(find "$place/$1/src" -name '*.c' ! -path '*/adapters/*' \
        ! -path '*/remote/*')
    "${CC:-cc}" -std=gnu11 -w -fPIC -shared -pthread -fvisibility=hidden -Wl,-soname,"$soname" \
        -Wl,--version-script="$project/src/liblanepool.map" \
        -I "$place/$1/include" -I "$place/$1/src" "${sources[@]}" -o "$place/$1/$soname"
}

soname=$(readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p')
cp "$library" "$place/now/$soname"
build_library later
failed=0
program() { # program <what> <its include directory> <the library's release> [flag]
    if ! "${CC:-cc}" -std=c11 -Wall -Wextra -Wno-missing-field-initializers ${4:+"$4"} -I "$2" \
        "$here/other_versions/main.c" "$place/$3/$soname" -pthread -o "$place/program" ||
        ! LD_LIBRARY_PATH=$place/$3 "$place/program"; then
        echo "$1 fails"
        failed=1
    fi
}
program "a program of today with its library" "$project/include" now
program "a program of today with a later library" "$project/include" later
program "a program of a later release with today's library" "$place/later/include" now -DLATER
exit $failed
