#!/usr/bin/env python3
"""Each construct of journals, in a file of its own, and ordinary journals: ledgerbatch reads them as
ledger and hledger do, or refuses them by name.

usage: constructs.py LEDGERBATCH [NAME]...

constructs/NAME.journal and ordinary/NAME.journal begin with comments that say what is expected:

    ; read                   its balances are those of both programs, before and after posting
    ; until: DATE            may follow: the balances up to and including that day are compared, too
    ; refused: TEXT          for each error, in the order of the lines: the message has the text
    ; piped: OPTION...       may follow: 'hledger print -x OPTION...' makes it readable

A journal that is read is read from 'hledger print -x', too.
"""
import datetime
import re
import sys
import tempfile
from pathlib import Path

import books
import compare
from books import check

FOLDERS = [Path(__file__).resolve().parent / name for name in ("constructs", "ordinary")]
SETTING = re.compile(r"^; (read|until|refused|piped)(?:: ?(.*))?$")


def journals():
    return [path for folder in FOLDERS for path in sorted(folder.glob("*.journal"))]


def settings_of(journal):
    """The first lines: a list of (name, value)."""
    found = []
    for line in journal.read_text(encoding="utf-8").splitlines():
        match = SETTING.match(line)
        if not match:
            break
        found.append(match.groups())
    return found


def values(settings, name):
    return [value for key, value in settings if key == name]


def post(binary, journal, folder, *more, expect=0):
    # The messages name the file, so the program runs where it lies.
    return books.run(binary, "run", "--db", folder / "db", "--out", folder / "out", *more, journal.name,
                     expect=expect, cwd=journal.parent)  # fmt: skip


def check_until(binary, journal, day):
    """Both programs exclude the end that they are given; --until includes its day."""
    after = datetime.date.fromisoformat(day) + datetime.timedelta(days=1)
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        post(binary, journal, folder, "--until", day)
        ours = books.our_balances(folder / "out" / "balances.csv")
    for program, balances in compare.PROGRAMS:
        wrong = compare.find_differences(ours, balances([journal], ["-e", after.isoformat()]))
        check(not wrong, f"{journal.name}: {program} until {day}: {wrong}")


def check_piped(binary, journal, options):
    """ledgerbatch reads from standard input what hledger has written out."""
    printed = books.run("hledger", "-f", journal, "print", "-x", *options).stdout
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        books.run(binary, "run", "--db", folder / "db", "--out", folder / "out", "-", input=printed)
        books.compare_with_both(None, folder / "out")
        ours = books.our_balances(folder / "out" / "balances.csv")
    wrong = compare.find_differences(ours, compare.hledger_balances([journal], options))
    check(not wrong, f"{journal.name}, printed by hledger: {wrong}")


def check_read(binary, journal, settings):
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        post(binary, journal, folder)
        check(books.compare_with_both(journal, folder / "out") > 0, f"{journal.name} has no balances")
    for day in values(settings, "until"):
        check_until(binary, journal, day)
    check_piped(binary, journal, [])


def check_refused(binary, journal, settings):
    wanted = values(settings, "refused")
    with tempfile.TemporaryDirectory() as path:
        message = post(binary, journal, Path(path), expect=2).stderr.decode()
    lines = [line for line in message.splitlines() if not line.startswith("ledgerbatch: ")]
    for line, text in zip(lines, wanted):
        check(re.match(rf"{journal.stem}[.](journal|include):\d+: ", line), f"{journal.name}: {line}")
        check(text in line, f"{journal.name}: {text!r} is not in: {line}")
    check(len(lines) == len(wanted), f"{journal.name}: {len(lines)} errors, expected {len(wanted)}:\n{message}")
    for options in values(settings, "piped"):
        check_piped(binary, journal, options.split())


def main():
    binary = books.program()
    books.skip_without("ledger", "hledger")
    names = sys.argv[1:]
    read = refused = 0
    for journal in journals():
        if names and journal.stem not in names:
            continue
        settings = settings_of(journal)
        is_read = bool(settings) and settings[0][0] == "read"
        check(is_read or values(settings, "refused"), f"{journal.name} does not say what is expected")
        if is_read:
            check_read(binary, journal, settings)
        else:
            check_refused(binary, journal, settings)
        read += is_read
        refused += not is_read
    check(read + refused > 0, "there is no such construct")
    print(f"constructs: {read} journals are read as both programs read them, {refused} are refused by name")


if __name__ == "__main__":
    main()
