#!/usr/bin/env bash
# Builds the Debian packages from a copy of the project. Lintian must find nothing. Installs them in
# a new root, which holds nothing else but what they depend on and compilers, runs the tests of
# debian/tests there, and removes the packages. Where no such root can be made, unpacks the packages
# in a folder, and builds the consumers against that.
#
#     debian.sh <project>
set -euo pipefail

project=$1
source "$(dirname "$0")/tools.sh"
need dpkg-buildpackage dh lintian
if ! dpkg-checkbuilddeps "$project/debian/control"; then
    exit 77
fi
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

fail() {
    echo "$1"
    exit 1
}

in_header=$(sed -nE 's/^#define LANEPOOL_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' \
    "$project/include/lanepool/status.h" | paste -sd .)
in_packages=$(dpkg-parsechangelog -l "$project/debian/changelog" -S Version)
[ "$in_header" = "$in_packages" ] ||
    fail "the packages have version $in_packages, the headers $in_header; see docs/packaging.md"

copy_project "$project" "$place/lanepool"
cd "$place/lanepool"
if ! DEB_BUILD_OPTIONS="nocheck parallel=2 noautodbgsym" dpkg-buildpackage -us -uc -b \
    >"$place/log" 2>&1; then
    tail -40 "$place/log"
    fail "the packages cannot be built"
fi
cd "$place"

root_allowed=()
[ "$(id -u)" -ne 0 ] || root_allowed=(--allow-root)
findings=$(lintian "${root_allowed[@]}" --tag-display-limit 0 ./*.changes 2>&1) || true
[ -z "$findings" ] || fail "lintian: $findings"

# The packages, and the files that their tests read.
mkdir "$place/opt"
cp ./*.deb "$place/opt"
(cd lanepool && cp -r --parents debian/tests tests/build/consumer* tests/build/consume_installed.sh \
    README.md demo/tutorial/hello.out "$place/opt")
cat >"$place/opt/in-root" <<'END'
set -e
cd /opt
export LC_ALL=C
dpkg --install ./*.deb >/dev/null
bash debian/tests/consumer
sh debian/tests/tools
dpkg --purge $(dpkg-query -W -f '${Package}\n' '*lanepool*') >/dev/null
! find / -xdev -name '*lanepool*' -not -path '/opt/*' | grep .
END
tar -C "$place" -cf "$place/opt.tar" opt

make_root() {
    local codename sources packages
    command -v mmdebstrap >/dev/null || return 1
    codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mapfile -t sources < <(grep -lw "$codename" /etc/apt/sources.list \
        /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null)
    packages=cmake,g++,gcc,libc6-dev,libglib2.0-dev,libpq-dev,libsqlite3-0,libuv1-dev,libyaml-0-2,make,pkg-config
    mmdebstrap --mode=unshare --variant=minbase --include="$packages" \
        --aptopt='Acquire::Retries "1"' --aptopt='Acquire::http::Timeout "20"' \
        --customize-hook="touch '$place/root-made'" \
        --customize-hook="tar-in '$place/opt.tar' /" \
        --customize-hook='env -i PATH="$PATH" chroot "$1" sh /opt/in-root' \
        --format=null "$codename" /dev/null "${sources[@]}" >"$place/root.log" 2>&1
}

if make_root; then
    echo "the packages were installed in a new root, and their tests passed there"
elif [ -e "$place/root-made" ]; then
    tail -40 "$place/root.log"
    fail "the packages do not work in a new root"
else
    tail -5 "$place/root.log" 2>/dev/null || true
    echo "no new root can be made here; the packages are unpacked in a folder"
    for package in "$place"/*.deb; do
        dpkg-deb -x "$package" "$place/unpacked"
    done
    bash "$project/tests/build/consume_installed.sh" "$place/unpacked/usr"
fi
