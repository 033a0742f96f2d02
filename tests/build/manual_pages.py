#!/usr/bin/env python3
"""Checks that each public call has a man page with all sections, none of them empty, and that the
name of each macro that makes a struct leads to a page that describes it.

    manual_pages.py <project> <folder of man pages>
"""
import os
import re
import sys

SECTIONS = ["NAME", "SYNOPSIS", "DESCRIPTION", "RETURN VALUE", "ERRORS", "THREADS", "COMPLEXITY",
            "EXAMPLE", "SEE ALSO"]


def sections_of(path):
    """Returns {title: text} of a page."""
    with open(path, encoding="utf-8") as file:
        parts = re.split(r"^\.SH (.*)\n", file.read(), flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def macros_without_page(items, folder):
    """Returns the macros with parameters, and those that initialize a struct, that lack a page."""
    for item in items:
        if item.kind != "macro" or not re.search(r"_INIT$|\(", item.form):
            continue
        path = os.path.join(folder, "man3", item.name + ".3")
        sections = sections_of(path) if os.path.exists(path) else {}
        if any(not re.search(item.name + r"(?!\w)", sections.get(title, ""))
               for title in ("NAME", "SYNOPSIS", "MACROS")):
            yield item.name


def main():
    project, folder = sys.argv[1:]
    sys.path.insert(0, os.path.join(project, "docs", "reference"))
    import headers
    items, _, _ = headers.read_headers(os.path.join(project, "include"))
    failed = 0
    calls = [item.name for item in items if item.is_call]
    for name in calls:
        path = os.path.join(folder, "man3", name + ".3")
        if not os.path.exists(path):
            print("%s has no page" % name)
            failed += 1
            continue
        sections = sections_of(path)
        for title in SECTIONS:
            if not re.sub(r"^\.\w+$", "", sections.get(title, ""), flags=re.M).strip():
                print("%s: %s is empty" % (path, title))
                failed += 1
    for name in macros_without_page(items, folder):
        print("%s has no page that describes it" % name)
        failed += 1
    overview = sections_of(os.path.join(folder, "man7", "lanepool.7"))
    for name in calls:
        if name not in overview.get("CALLS", ""):
            print("lanepool.7 does not name %s" % name)
            failed += 1
    print("%d calls, %d problems" % (len(calls), failed))
    if failed or not calls:
        sys.exit(1)


if __name__ == "__main__":
    main()
