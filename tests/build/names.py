#!/usr/bin/env python3
"""Checks that the names of functions are useful in a backtrace.

    names.py <directory of sources>

A name must have at least two words, and no two files may define functions with the same name.
"""
import collections
import os
import re
import sys

DEFINITION = re.compile(r"^[a-z_][^\n;{}#=]*?\b(\w+)\([^;{}]*\)\n\{", re.M)


def functions_of(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"_Atomic\(([^()]*)\)", r"\1", text)
    text = re.sub(r"__attribute__\(\(.*?\)\)", "", text)
    return DEFINITION.findall(text)


def main():
    sources = sys.argv[1]
    files = collections.defaultdict(set)
    for place, _, names in sorted(os.walk(sources)):
        for name in sorted(names):
            if name.endswith(".c"):
                path = os.path.join(place, name)
                with open(path, encoding="utf-8") as file:
                    for function in functions_of(file.read()):
                        files[function].add(os.path.relpath(path, sources))
    failed = 0
    for function, where in sorted(files.items()):
        if "_" not in function:
            print("%s: %s() says too little in a backtrace" % (", ".join(sorted(where)), function))
            failed = 1
        if len(where) > 1:
            print("%s() is in %s" % (function, " and ".join(sorted(where))))
            failed = 1
    if not files:
        print("no functions found")
        failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
