#!/usr/bin/env python3
"""Writes the man page of a tool from what the tool's --help says.

    tool_manual.py <page> <version> <project> <program or its emulator> [<program>]

The first line of the help is "NAME: what it does". A line that begins with the name is a command.
An indented line that begins with "-" is an option. Deeper lines go on with the one before them.
Other lines are paragraphs; one that begins with "Exit codes:" is a list. If a command has a help of
its own, the page has that instead.
"""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from manual import date_of, escape  # noqa: E402

DEEP = 20  # a line with so many spaces before it continues the line above
TERM_WIDTH = 25  # where the text of an option begins, if only one space is before it


def help_of(program, *command):
    return subprocess.run(program + list(command) + ["--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def split_term(line):
    """Returns the words that are typed, and the text about them."""
    match = re.match(r"(\s*\S.*?)\s{2,}(\S.*)$", line)
    if match:
        return match.group(1).strip(), match.group(2)
    if len(line) > TERM_WIDTH and line[TERM_WIDTH - 1] == " ":
        return line[:TERM_WIDTH].strip(), line[TERM_WIDTH:]
    return line.strip(), ""


def read_items(text, name):
    """Returns the help as a list of [kind, term, text]: command, option or paragraph."""
    items, ended = [], True
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        term, rest = split_term(line)
        if not line:
            ended = True
        elif line.startswith(name + " "):
            items.append(["command", term, rest])
            ended = False
        elif 0 < indent < DEEP and line.lstrip().startswith("-") and rest:
            items.append(["option", term, rest])
            ended = False
        elif items and not ended and (indent >= DEEP) == (items[-1][0] != "paragraph"):
            items[-1][2] = (items[-1][2] + " " + line.strip()).strip()
        else:
            items.append(["paragraph", "", line.strip()])
            ended = False
    return items


def typed(term):
    """Returns roff for a term: options and commands are bold, words in capitals are italic."""
    term = re.sub(r"(?<![A-Za-z-])(-[\w-]+)", r"\\fB\1\\fP", term)
    term = re.sub(r"\b([A-Z][A-Z|%-]*[A-Z]|[NMKSX])\b", r"\\fI\1\\fP", term)
    return escape(term).replace("\\ef", "\\f")


def write_items(items):
    page, above = "", None
    for kind, term, text in items:
        if kind == "command":
            page += ".SS \"%s\"\n" % escape(term).replace('"', "\\(dq")
        elif kind == "option":
            page += ".TP\n%s\n" % typed(term)
        elif above and above != ("command", ""):
            page += ".PP\n"
        above = kind, text
        if text:
            page += escape(text[:1].upper() + text[1:] if kind == "command" else text) + "\n"
    return page


def main():
    path, version, project = sys.argv[1:4]
    program = sys.argv[4:]
    name = os.path.basename(program[-1])
    first, text = help_of(program).split("\n", 1)
    brief = first.split(": ", 1)[1]
    body, exits = [], ""
    for item in read_items(text, name):
        own = None
        if item[0] == "command" and re.match(r"[a-z]", item[1].split()[1]):
            own = help_of(program, item[1].split()[1])
        if item[2].startswith("Exit codes: "):
            exits = item[2][len("Exit codes: "):].rstrip(".")
        elif own and own != first + "\n" + text:
            body += read_items(own, name)
        else:
            body.append(item)
    page = '.TH %s 1 "%s" "lanepool %s" "lanepool"\n' % (name.upper(), date_of(project), version)
    page += ".SH NAME\n%s \\- %s\n" % (name, escape(brief))
    page += ".SH SYNOPSIS\n.B %s\n.I COMMAND\n.RI [ ARGUMENT ]...\n" % name
    page += ".SH DESCRIPTION\n" + write_items(body)
    if exits:
        page += ".SH EXIT STATUS\n"
        for code in exits.split("; "):
            page += ".TP\n.B %s\n%s\n" % tuple(map(escape, code.split(" ", 1)))
    others = {"laneview": "ledgerbatch", "ledgerbatch": "laneview"}
    page += ".SH SEE ALSO\n.BR %s (1),\n.BR lanepool (7)\n" % others[name]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
