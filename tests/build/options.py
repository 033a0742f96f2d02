#!/usr/bin/env python3
"""Checks that tests pair each option of a pool with each other one.

Each member of lanepool_options needs a row in the tables of tests/contract/option_pairs.c, which
sets it. Two members say what sort of pool it is, and are set for all rows.

usage: options.py PROJECT
"""
import re
import sys
from pathlib import Path

SORT = {"layout", "is_compatible"}


def members(header):
    """The names of the members of lanepool_options, without comments."""
    body = re.search(r"typedef struct lanepool_options \{(.*?)\} lanepool_options;", header, re.S)
    text = re.sub(r"/\*.*?\*/", "", body.group(1), flags=re.S) if body else ""
    names = [re.search(r"(\w+)\s*$", part) for part in text.split(";")]
    return [name.group(1) for name in names if name]


def main():
    project = Path(sys.argv[1])
    header = (project / "include/lanepool/pool.h").read_text()
    test = (project / "tests/contract/option_pairs.c").read_text()
    table = re.search(r"settings\[\] = \{(.*?)\n\};", test, re.S)
    rows = set(re.findall(r"\.(\w+) = ", table.group(1))) if table else set()
    sorts = set(re.findall(r"options\.(\w+) = ", test))
    options = [name for name in members(header) if name != "struct_size"]
    lacking = [name for name in options if name not in (sorts if name in SORT else rows)]
    for name in lacking:
        print(f"option_pairs.c has no row for the option {name}")
    return 1 if lacking or not options else 0


if __name__ == "__main__":
    sys.exit(main())
