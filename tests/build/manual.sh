#!/usr/bin/env bash
# Installs the project in a new directory, and checks its man pages: each call has one, the tools for
# man pages find no mistake, and man shows some of them.
#
#     manual.sh <project> <build directory>
set -euo pipefail

project=$1
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
failed=0

command -v python3 >/dev/null || exit 77
"${CMAKE:-cmake}" --install "$2" --prefix "$place" >/dev/null
python3 -B "$project/tests/build/manual_pages.py" "$project" "$place/share/man" || failed=1

if command -v mandoc >/dev/null; then
    mandoc -T lint -W warning "$place"/share/man/man?/* || failed=1
fi
if command -v groff >/dev/null; then
    warnings=$(groff -man -Tutf8 -Kutf8 -ww -z "$place"/share/man/man?/* 2>&1)
    if [ -n "$warnings" ]; then
        echo "$warnings"
        failed=1
    fi
fi
if command -v man >/dev/null; then
    while read -r page words; do
        shown=$(MANPATH=$place/share/man MANPAGER=cat man "$page" 2>&1 | tr -d '\b') || true
        if ! grep -q "$words" <<<"$shown"; then
            echo "man does not show $page"
            failed=1
        fi
    done <<END
lanepool_pool_submit LANEPOOL_NOMEM
lanepool LANEPOOL_NOMEM
LANEPOOL_TASK LANEPOOL_TASK(...)
LANEPOOL_CLAIMS LANEPOOL_CLAIMS(...)
END
fi
exit $failed
