#!/usr/bin/env bash
# Installs the pages, and checks that their links and pictures lead to what is installed.
#
#     installed_pages.sh <project> <build directory>
set -euo pipefail

command -v python3 >/dev/null || exit 77
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"${CMAKE:-cmake}" --build "$2" --target installed_pages >/dev/null
"${CMAKE:-cmake}" --install "$2" --prefix "$place" --component docs >/dev/null
readme=$(find "$place" -name README.md -path '*/doc/*' -not -path '*/docs/*')
python3 -B "$1/tests/build/pages.py" "$(dirname "$readme")" --links
