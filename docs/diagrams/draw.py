#!/usr/bin/env python3
"""Draws the diagrams: every .dot file here, and the folders of src/ from layers.txt.

    draw.py            writes each drawing as <name>.svg (needs dot, of Graphviz)
    draw.py --check    says which drawing is older than its source; needs no other program
    draw.py --layers   prints the source of the drawing of the folders

A drawing has the digest of its source in its first lines. The check compares digests, since another
version of dot draws the same source a little differently.
"""
import collections
import glob
import hashlib
import html
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "..", "..", "src")
MARK = "<!-- drawn by draw.py from a source with the SHA-256 digest %s -->\n"
ADAPTERS = "adapters"  # users of the public headers: they are drawn without arrows


def read_table():
    """Folders from top to bottom with what each is for, and structs of functions."""
    folders, tables = {}, collections.defaultdict(list)
    for line in open(os.path.join(HERE, "layers.txt"), encoding="ascii"):
        head, _, rest = line.strip().partition(": ")
        words = rest.split()
        if head.startswith("#") or not words:
            continue
        if head == "table":
            folder = os.path.dirname(words[0])
            others = [other for other in words[3:] if other != folder]
            if others:
                tables[folder].append("%s: %s of %s" % (words[1], words[2], ", ".join(others)))
        elif head not in ("public", "outside"):
            folders[head] = rest
    return folders, tables


def downward_includes(folders):
    """Which folders each one includes files of, below itself."""
    level = {name: place for place, name in enumerate(folders)}
    below = collections.defaultdict(set)
    for folder in folders:
        for path in glob.glob(os.path.join(SOURCES, folder, "*.[ch]")):
            text = open(path, encoding="utf-8").read()
            for other in re.findall(r'^#include "([\w/]+)/\w+\.h"', text, re.M):
                if level.get(other, -1) > level[folder]:
                    below[folder].add(other)
    return below


def without_shortcuts(below):
    """The arrows that do not follow from others."""

    def reaches(start, end, seen):
        seen.add(start)
        return start == end or any(reaches(n, end, seen) for n in below[start] if n not in seen)

    for folder in list(below):
        for other in sorted(below[folder]):
            between = below[folder] - {other}
            if not any(reaches(n, other, set()) for n in between):
                yield folder, other


def label_of(folder, what, structs):
    """A folder as a table: name, what it is for, its files, the structs of functions of others."""
    paths = glob.glob(os.path.join(SOURCES, folder, "*.[ch]"))
    stems = sorted({os.path.splitext(os.path.basename(path))[0] for path in paths})
    files = ["&nbsp;&nbsp;".join(stems[i:i + 7]) for i in range(0, len(stems), 7)]
    rows = ['<b>%s/</b>&nbsp; <font color="#405060">%s</font>' % (folder, html.escape(what))]
    rows += ['<font point-size="9" color="#607080">%s</font>' % text for text in files]
    rows += ['<font point-size="9" color="#3070b0">%s</font>' % text for text in structs]
    cells = "".join('<tr><td align="left">%s</td></tr>' % row for row in rows)
    return '<<table border="0" cellspacing="0" cellpadding="1">%s</table>>' % cells


def layers_dot():
    folders, tables = read_table()
    below = downward_includes(folders)
    out = ["digraph layers {",
           '    rankdir=TB; ranksep=0.22; nodesep=0.5; newrank=true;',
           '    fontname="Helvetica"; fontsize=11;',
           '    node [shape=box, style="rounded,filled", fillcolor="#eef2f7", color="#a0b0c0",',
           '          fontname="Helvetica", fontsize=11, margin="0.1,0.04"];',
           '    edge [fontname="Helvetica", fontsize=9, color="#90a0b0", arrowsize=0.6];']
    for folder, what in folders.items():
        out.append('    "%s" [label=%s];' % (folder, label_of(folder, what, tables[folder])))
    names = list(folders)
    for upper, lower in zip(names, names[1:]):
        out.append('    "%s" -> "%s" [style=invis, weight=10];' % (upper, lower))
    for folder, other in sorted(without_shortcuts(below)):
        out.append('    "%s" -> "%s";' % (folder, other))
    out += ['    labelloc=b;',
            '    label=<Grey, down: includes and calls, without those that follow from others.<br/>'
            '<font color="#3070b0">Blue: a struct of functions through which a folder calls those '
            'above it, and how many.</font>>;', "}", ""]
    return "\n".join(out)


def drawings():
    """Yields (name, source) of each drawing."""
    for path in sorted(glob.glob(os.path.join(HERE, "*.dot"))):
        yield os.path.splitext(os.path.basename(path))[0], open(path, encoding="utf-8").read()
    yield "layers", layers_dot()


def mark_of(source):
    return MARK % hashlib.sha256(source.encode()).hexdigest()


def check():
    stale = 0
    for name, source in drawings():
        path = os.path.join(HERE, name + ".svg")
        if not os.path.exists(path) or mark_of(source) not in open(path, encoding="utf-8").read(1000):
            print("%s.svg is older than its source: run docs/diagrams/draw.py" % name)
            stale = 1
    return stale


def draw():
    for name, source in drawings():
        svg = subprocess.run(["dot", "-Tsvg"], input=source, capture_output=True, text=True, check=True).stdout
        head = svg.index("<svg")
        with open(os.path.join(HERE, name + ".svg"), "w", encoding="utf-8") as file:
            file.write('<?xml version="1.0" encoding="UTF-8"?>\n' + mark_of(source) + svg[head:])


def main():
    if sys.argv[1:] == ["--check"]:
        return check()
    if sys.argv[1:] == ["--layers"]:
        print(layers_dot(), end="")
        return 0
    if sys.argv[1:]:
        sys.exit(__doc__)
    draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
