#!/usr/bin/env bash
# Builds the source archive in two clones at different places, in another time zone and with another
# umask: the bytes must be the same. The archive must hold all files of the commit. A Meson project must
# build and run with it, by the wrap file that comes with it.
#
#     dist.sh <project>
set -euo pipefail

project=$1
here=$(cd "$(dirname "$0")" && pwd)
source "$here/tools.sh"
need git gzip make
if ! git -C "$project" rev-parse --verify -q HEAD >/dev/null; then
    echo "the project is not a clone"
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

build_archive() { # build_archive <clone>
    git clone -q "$project" "$place/$1"
    "${CMAKE:-cmake}" -S "$place/$1" -B "$place/$1-build" -G 'Unix Makefiles' \
        -DCMAKE_C_COMPILER="${CC:-cc}" -DLANEPOOL_BUILD_TESTS=OFF -DLANEPOOL_BUILD_DEMO=OFF \
        -DLANEPOOL_BUILD_DOCS=OFF -DLANEPOOL_BUILD_ADAPTERS=OFF >/dev/null
    "${CMAKE:-cmake}" --build "$place/$1-build" --target dist >/dev/null
}
build_archive one
(umask 077 && TZ=Asia/Tokyo build_archive another/place)
archive=$(basename "$place"/one-build/lanepool-*.tar.gz)
cmp "$place/one-build/$archive" "$place/another/place-build/$archive"
cmp "$place/one-build/lanepool.wrap" "$place/another/place-build/lanepool.wrap"
diff <(git -C "$place/one" ls-tree -r --name-only HEAD | LC_ALL=C sort) \
    <(tar -tzf "$place/one-build/$archive" | grep -v '/$' | sed 's:^[^/]*/::' | LC_ALL=C sort)

if ! command -v meson >/dev/null || ! command -v ninja >/dev/null; then
    echo "the archive is reproducible; meson or ninja is missing for the rest"
    exit 0
fi
mkdir -p "$place/app/subprojects/packagefiles"
cp "$here/meson/meson.build" "$here/../build/consumer/main.c" "$place/app"
cp "$place/one-build/lanepool.wrap" "$place/app/subprojects"
cp "$place/one-build/$archive" "$place/app/subprojects/packagefiles"
if ! meson setup "$place/app/build" "$place/app" >"$place/log" 2>&1 ||
    ! ninja -j 2 -C "$place/app/build" >>"$place/log" 2>&1; then
    tail -40 "$place/log"
    exit 1
fi
"$place/app/build/consumer"
# Meson's default is a build without optimisation; the library is optimised all the same.
if ninja -C "$place/app/build" -t commands | grep 'src_pool_pool\.c' |
    grep -oE -- '-O[0-9s]' | tail -1 | grep -v -- -O2; then
    echo "the library is built without optimisation"
    exit 1
fi
