#!/usr/bin/env python3
"""Checks a tool's bash completion: it offers each command and each option that --help describes, for
the commands that have it, and no others.

    completions.py <program> <completion>
"""
import os
import re
import subprocess
import sys

program, completion = sys.argv[1:]
name = os.path.basename(program)


def help_of(*command):
    return subprocess.run([program, *command, "--help"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout


def offered(*words):
    """Returns what bash offers for the last word."""
    script = r'''
compopt() { :; }
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
"_${COMP_WORDS[0]##*/}"
printf '%s\n' "${COMPREPLY[@]}"'''
    lines = subprocess.run(["bash", "-c", script, "bash", completion, *words], check=True, text=True,
                           stdout=subprocess.PIPE).stdout.split("\n")
    return {line for line in lines if line}


def options_in(text):
    """Returns the options that the text describes: those in the usage of commands, and those that
    begin an indented line."""
    found = set()
    for line in text.splitlines():
        term = re.split(r"(?<=\S)\s{2,}", line)[0]
        if line.startswith(name + " ") or re.match(r"  -", line):
            found.update(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", term))
    return found


def commands_in(text):
    return {word for word in re.findall(r"^%s (\S+)" % name, text, flags=re.M)
            if re.match(r"[a-z]", word)}


def main():
    text = help_of()
    commands, problems = commands_in(text), []

    def expect(what, found, expected):
        if found != expected:
            problems.append("%s: offered but not in --help: %s; in --help but not offered: %s" % (
                what, sorted(found - expected), sorted(expected - found)))

    expect("the first word", offered(name, ""), commands | {"--help", "--version"})
    described, complete = options_in(text), set()
    for command in sorted(commands):
        own = help_of(command)
        options = offered(name, command, "-")
        if own != text:
            expect(command, options, options_in(own) | {"--help"})
        complete |= options
    if not described <= {"--help", "--version"} | complete:
        problems.append("no command offers %s" % sorted(
            described - complete - {"--help", "--version"}))
    if complete - described - {"--help"} and all(help_of(command) == text for command in commands):
        problems.append("--help does not describe %s" % sorted(complete - described))
    if len(commands) < 5 or len(complete) < 5:
        problems.append("only %d commands and %d options were found" % (
            len(commands), len(complete)))
    for problem in problems:
        print(problem)
    print("%d commands, %d options" % (len(commands), len(complete)))
    return 1 if problems else 0


sys.exit(main())
