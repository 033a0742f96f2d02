#!/usr/bin/env python3
"""Checks that the folders of the sources include and call only downwards.

    layers.py <sources> <table> [--public <directory of headers>] [object file...]

The table is docs/diagrams/layers.txt. It names the folders from top to bottom, the structs of
functions through which a lower folder calls a higher one, public headers with the files of their
functions, and folders outside, which use other folders by public headers only. Each row must be true. The objects are the compiled sources; without them calls are
not checked. At most four files may need one another: then a reader must know all of them to
understand one.
"""
import argparse
import collections
import os
import re
import subprocess
import sys


KNOT_MAX = 4  # files that need one another


class Table:
    """The contents of layers.txt."""

    def __init__(self, path):
        self.level = {}  # folder -> its position from the bottom
        self.tables = {}  # (header, type) -> (count, folders)
        self.public = {}  # public header -> stems
        self.outside = set()  # folders
        folders = []
        for line in open(path):
            head, _, rest = line.partition(":")
            words = rest.split()
            if line.startswith("#") or not words:
                continue
            if head == "table":
                self.tables[words[0], words[1]] = (int(words[2]), words[3:])
            elif head == "public":
                self.public[words[0]] = words[1:]
            elif head == "outside":
                self.outside.add(words[0])
            else:
                folders.append(head)
        for place, folder in enumerate(reversed(folders)):
            self.level[folder] = place

    def points_up(self, file, other):
        return self.level.get(folder_of(other), -1) > self.level.get(folder_of(file), 99)


    def is_inside(self, file, other):
        """Whether a file outside of the others uses a file of another folder."""
        return folder_of(file) in self.outside and folder_of(other) != folder_of(file)


def folder_of(file):
    return os.path.dirname(file)


def sources_of(sources):
    for place, _, names in os.walk(sources):
        for name in names:
            if name.endswith((".c", ".h")):
                yield os.path.relpath(os.path.join(place, name), sources)


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def includes_of(text):
    return re.findall(r'^ *# *include *"([^"]+)"', text, re.M)


def structs_of_functions(text):
    """Yields (type, number of members that are functions)."""
    for body in re.finditer(r"struct (\w+) \{(.*?)^\}", without_comments(text), re.S | re.M):
        count = len(re.findall(r"\(\*\w+\)\(", body[2]))
        if count > 0:
            yield body[1], count


def calls_of(sources, objects):
    """Yields (file, function, file of the function) for calls of functions of other files."""
    owner, used = {}, collections.defaultdict(set)
    for path in objects:
        # An object lies at <...>/<sources>/<folder>/<file>, or at <target>.dir/<folder>/<file>.
        found = re.search(r"(?:/%s|\.dir)/((?:\w+/)+\w+\.c)\.o(bj)?$" % os.path.basename(sources), path)
        if not found:
            continue
        file = found[1]
        for line in subprocess.check_output(["nm", path], text=True).splitlines():
            words = line.split()
            if words[-2] in "TDRBV":
                owner[words[-1]] = file
            elif words[-2] == "U":
                used[file].add(words[-1])
    for file, names in sorted(used.items()):
        for name in sorted(names):
            if owner.get(name, file) != file:
                yield file, name, owner[name]


def check_files(table, texts):
    for file in sorted(texts):
        if folder_of(file) not in table.level:
            yield "%s: its folder is not in the table" % file


def check_includes(table, texts):
    edges = {}
    for file, text in sorted(texts.items()):
        edges[file] = [name for name in includes_of(text) if name in texts]
        for name in edges[file]:
            if table.points_up(file, name):
                yield "%s includes %s, which is in a higher folder" % (file, name)
            if table.is_inside(file, name):
                yield "%s includes %s, which is no public header" % (file, name)
    cycle = cycle_in(edges)
    if cycle:
        yield "cycle of includes: " + " -> ".join(cycle)


def cycle_in(edges):
    state = {}

    def visit(node, way):
        state[node] = "open"
        for other in edges[node]:
            if state.get(other) == "open":
                return way[way.index(other):] + [other] if other in way else [node, other]
            if other not in state:
                found = visit(other, way + [other])
                if found:
                    return found
        state[node] = "done"
        return None

    for node in sorted(edges):
        if node not in state:
            found = visit(node, [node])
            if found:
                return found
    return None


def check_calls(table, sources, objects):
    edges = collections.defaultdict(set)
    for file, name, other in calls_of(sources, objects):
        edges[file].add(other)
        if table.points_up(file, other):
            yield "%s calls %s in %s, which is in a higher folder" % (file, name, other)
        if table.is_inside(file, other) and name.startswith("lanepool_i_"):
            yield "%s calls %s in %s, which is no public function" % (file, name, other)
    for knot in knots_of(edges):
        if len(knot) > KNOT_MAX:
            yield "%d files need one another: %s" % (len(knot), " ".join(knot))


def knots_of(edges):
    """Yields the groups of files that need one another."""

    def reachable(start):
        seen, stack = set(), [start]
        while stack:
            for other in edges.get(stack.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    stack.append(other)
        return seen

    reach = {file: reachable(file) for file in edges}
    done = set()
    for file in sorted(edges):
        knot = sorted(other for other in reach[file] if file in reach.get(other, ()))
        if knot and file not in done:
            done |= set(knot)
            yield knot


def check_tables(table, texts):
    seen = {}
    for file, text in sorted(texts.items()):
        if file.endswith(".h") and folder_of(file) not in ("platform", "adapters"):
            for name, count in structs_of_functions(text):
                seen[file, name] = count
    for key, count in sorted(seen.items()):
        if table.tables.get(key, (0, []))[0] != count:
            yield "%s: %s has %d functions; the table says otherwise" % (*key, count)
    for key in sorted(set(table.tables) - set(seen)):
        yield "%s: %s is no struct of functions any more: remove it from the table" % key


def check_public(table, texts, headers):
    """Checks that each public function is in <stem>.c, or in <stem>_<part>.c, for a stem of its header."""
    place = {}
    for file, text in texts.items():
        if file.endswith(".c"):
            code = without_comments(text)
            for name in re.findall(r"^[^\s#{}][^;{}]*?\b(lanepool_(?!i_)\w+)\([^;{}]*\)\n\{", code, re.M):
                place[name] = file
    for header in sorted(os.listdir(headers)):
        if not header.endswith(".h"):
            continue
        text = without_comments(open(os.path.join(headers, header)).read())
        stems = "|".join(table.public.get(header, [header[:-2]]))
        for name in re.findall(r"LANEPOOL_API[^;]*?\b(lanepool_\w+)\s*\(", text):
            file = place.get(name)
            if file is None:
                yield "%s is declared in %s, but defined nowhere" % (name, header)
            elif not re.fullmatch("(%s)" % stems + r"(_\w+)?\.c", os.path.basename(file)):
                yield "%s is declared in %s and defined in %s" % (name, header, file)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("sources")
    arguments.add_argument("table")
    arguments.add_argument("--public")
    arguments.add_argument("objects", nargs="*")
    given = arguments.parse_intermixed_args()
    sources = given.sources.rstrip("/")
    table = Table(given.table)
    texts = {file: open(os.path.join(sources, file)).read() for file in sources_of(sources)}
    findings = list(check_files(table, texts))
    findings += check_includes(table, texts)
    findings += check_tables(table, texts)
    if given.public:
        findings += check_public(table, texts, given.public)
    if given.objects:
        findings += check_calls(table, sources, given.objects)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
