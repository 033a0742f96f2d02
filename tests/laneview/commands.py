#!/usr/bin/env python3
"""The commands, their options and exit codes, as a user meets them.

usage: commands.py LANEVIEW
"""
import os
import subprocess

import schedule
from views import Views, check

COMMANDS = ("timeline", "svg", "html", "chrome", "stats", "plan", "dot", "replay", "record", "play", "compare",
            "scenario")  # fmt: skip

WRONG = [
    ((), "a command is missing"),
    (("walk",), "unknown command walk"),
    (("svg",), "svg needs a FILE"),
    (("html", "--from", "2s", "x"), "unknown option --from"),
    (("svg", "--ascii", "x"), "unknown option --ascii"),
    (("svg", "x", "y"), "only one file at a time, not also y"),
    (("svg", "x", "-o"), "a value is missing after -o"),
    (("svg", "--from", "soon", "x"), "not a time such as 12.5ms: soon"),
    (("svg", "--from=2s", "--to=1s", "x"), "--from must be before --to"),
    (("timeline", "--to", "5", "x"), "not a time such as 12.5ms: 5"),
    (("dot", "x"), "dot needs a moment: --at TIME"),
    (("dot", "--at", "-1ms", "x"), "not a time such as 12.5ms: -1ms"),
    (("replay", "--speed", "0", "x"), "not a speed from 0.01 to 10000: 0"),
    (("replay", "--speed", "1e3", "x"), "not a speed from 0.01 to 10000: 1e3"),
    (("replay", "-o", "y", "x"), "unknown option -o"),
    (("record", "-o", "x"), "record needs the NAME of a scenario"),
    (("record", "seed"), "record needs to know where: -o FILE"),
    (("record", "seed", "-o", "x", "--workers", "0"), "not a number of workers from 1 to 1024: 0"),
    (("record", "seed", "-o", "x", "--workers=2x"), "not a number of workers from 1 to 1024: 2x"),
    (("record", "seed", "-o", "x", "--workers", "99999999999999999999"),
     "not a number of workers from 1 to 1024: 99999999999999999999"),
    (("record", "seed", "-o", "x", "--layout", "lane"), "not a layout, worker or key: lane"),
    (("play", "--speed", "2"), "play needs the NAME of a scenario"),
    (("play", "seed", "-o", "x"), "unknown option -o"),
    (("compare", "seed", "--layout", "key"), "unknown option --layout"),
    (("svg", "--layout", "key", "x"), "unknown option --layout"),
    (("scenario", "a", "b"), "only one file at a time, not also b"),
]


def check_help(views):
    whole = views.text("--help")
    for command in COMMANDS:
        check(f"laneview {command}" in whole, f"--help has {command}")
        own = views.text(command, "--help")
        check(own.startswith(f"laneview {command} ") and own == views.text(command, "x", "-h"),
              f"{command} --help")  # fmt: skip
    check(views.text("--version").startswith("laneview "), "--version")
    for arguments, message in WRONG:
        views.wrong(f"laneview: {message}; see laneview --help", *arguments)


def check_files(views):
    contents = schedule.seed().bytes()
    views.write("seed.rec", contents)
    views.write("-odd", contents)
    for command in (("svg",), ("html",), ("timeline",), ("chrome",), ("stats",), ("plan",),
                    ("dot", "--at", "5ms")):
        printed = views.run(*command, "seed.rec").stdout
        views.run(*command, "seed.rec", "-o", "out")
        check((views.path / "out").read_bytes() == printed, f"{command} -o")
        check(views.run(*command, "-o", "-", "seed.rec").stdout == printed, f"{command} -o -")
    check(views.run("stats", "-", input=contents).stdout == views.run("stats", "seed.rec").stdout,
          "from standard input")  # fmt: skip
    check(views.run("stats", "--", "-odd").stdout == views.run("stats", "seed.rec").stdout, "--")


def check_full_disk(views):
    message = "cannot be written: No space left on device"
    for command in (("svg",), ("html",), ("chrome",), ("stats",), ("replay",), ("timeline",)):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([views.binary, *command, "seed.rec"], cwd=views.path, stdout=full,
                                    stderr=subprocess.PIPE)  # fmt: skip
        check(result.returncode == 1, f"{command}: exit {result.returncode} on a full disk")
        check(result.stderr.decode() == f"laneview: standard output {message}\n", f"{result.stderr}")
    views.wrong(f"laneview: /dev/full {message}", "svg", "seed.rec", "-o", "/dev/full", code=1)
    views.wrong("laneview: no/where cannot be written: No such file or directory", "svg", "seed.rec",
                "-o", "no/where", code=1)  # fmt: skip


def check_closed_pipe(views):
    """The reader has gone before the first byte."""
    for command in (("timeline",), ("svg",), ("html",), ("chrome",), ("stats",), ("replay",), ("--help",)):
        reader, writer = os.pipe()
        os.close(reader)
        arguments = command if command[0] == "--help" else (*command, "seed.rec")
        result = subprocess.run([views.binary, *arguments], cwd=views.path, stdout=writer,
                                stderr=subprocess.PIPE)  # fmt: skip
        os.close(writer)
        check((result.returncode, result.stderr) == (0, b""), f"{command}: {result}")


def main():
    views = Views()
    check_help(views)
    check_files(views)
    if os.path.exists("/dev/full"):
        check_full_disk(views)
    check_closed_pipe(views)
    print("commands: as described")


if __name__ == "__main__":
    main()
