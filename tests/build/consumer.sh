#!/usr/bin/env bash
# Installs the library in a new directory, and builds programs against it.
#
#     consumer.sh <build directory of the project>
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

"${CMAKE:-cmake}" --install "$1" --prefix "$place/prefix" >/dev/null
bash "$here/consume_installed.sh" "$place/prefix"
