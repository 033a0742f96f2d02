#!/usr/bin/env python3
"""Compares ledgerbatch's balances, account by account, with ledger's and hledger's.

usage: compare.py OUTPUTS [JOURNAL]...

Both programs read OUTPUTS/posted.journal. With JOURNALs, they read these, too: the run must
have no refusals and no month-end entries. Prints how many accounts differ in each reading.
Exits 1 if any does.
"""
import csv
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

AMOUNT = re.compile(
    r'(?:(?P<symbol_before>"[^"]*"|[^\d\s"-]+)\s*(?P<number_after>-?[\d,.]+))'
    r'|(?:(?P<number>-?[\d,.]+)\s*(?P<symbol>"[^"]*"|[^\d\s"]+)?)'
)


class Refused(Exception):
    """A program did not accept a journal."""


def run_program(command):
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    result = subprocess.run(command, capture_output=True, env=environment, check=False)
    if result.returncode != 0:
        raise Refused(f"{command[0]} refused: {result.stderr.decode()[-1000:].strip()}")
    return result.stdout.decode().splitlines()


def text_of(cell):
    """The text of a cell: an apostrophe before it keeps spreadsheets from running it."""
    return cell.removeprefix("'")


def our_balances(outputs):
    with open(Path(outputs) / "balances.csv", newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))[1:]
    return {(text_of(account), text_of(symbol)): Decimal(amount) for account, symbol, amount in rows}


def file_arguments(journals):
    return [word for journal in journals for word in ("-f", str(journal))]


def number_of(text):
    """The value of an amount: 1,234.50, or 1.234,50 in journals that have decimal commas."""
    has_decimal_comma = re.fullmatch(r"-?[\d.]*,(\d{1,2}|\d{4,})|-?\d+([.]\d{3})+,\d+", text)
    if has_decimal_comma:
        text = text.replace(".", "").replace(",", ".")
    return Decimal(text.replace(",", ""))


def ledger_balances(journals, options=()):
    """Returns the balances of `ledger bal`, without lots and prices."""
    lines = run_program(["ledger", "--args-only", *file_arguments(journals), "bal", "--flat", *options,
                         "--no-total", "--format", "%(account)\t%(strip(amount))\n%/"])  # fmt: skip
    balances = {}
    account = None
    for line in lines:
        if "\t" in line:
            account, line = line.rsplit("\t", 1)
        amount = line.strip()
        if amount in ("", "0"):
            continue
        match = AMOUNT.fullmatch(amount)
        if not match:
            raise Refused(f"ledger's amount {amount!r} cannot be read")
        symbol = (match["symbol_before"] or match["symbol"] or "").strip('"')
        number = match["number_after"] or match["number"]
        balances[account.strip(), symbol] = number_of(number)
    return balances


def hledger_balances(journals, options=()):
    lines = run_program(["hledger", *file_arguments(journals), "bal", "--flat", "-N", *options,
                         "--layout=bare", "-O", "csv"])  # fmt: skip
    balances = {}
    for account, symbol, number in list(csv.reader(lines))[1:]:
        value = number_of(number)
        if value:
            balances[account, symbol] = value
    return balances


def find_differences(ours, theirs):
    """Returns the accounts that differ by more than the other program's rounding for display."""
    wrong = []
    for key in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(key, Decimal(0)), theirs.get(key, Decimal(0))
        # The other program does not show a balance that it rounds to zero.
        decimals = max(mine.as_tuple().exponent, other.as_tuple().exponent) if other else -2
        if abs(mine - other) > Decimal(1).scaleb(decimals) / 2:
            wrong.append(f"{key[0]}: {other} {key[1]}, ledgerbatch has {mine}")
    return wrong


PROGRAMS = (("ledger", ledger_balances), ("hledger", hledger_balances))


def compare_readings(outputs, journals):
    """Yields (what was read, accounts, differences) for each program and reading."""
    ours = our_balances(outputs)
    readings = [("posted.journal", [Path(outputs) / "posted.journal"])]
    if journals:
        readings.append(("the input", journals))
    for program, balances in PROGRAMS:
        if shutil.which(program) is None:
            print(f"  {program} is not installed: nothing is compared with it")
            continue
        for what, paths in readings:
            yield f"{program} reads {what}", len(ours), find_differences(ours, balances(paths))


def main(outputs, journals):
    total = 0
    try:
        for what, count, wrong in compare_readings(outputs, journals):
            print(f"  {what}: {count} balances, {len(wrong)} differ")
            for line in wrong[:5]:
                print(f"    {line}")
            total += len(wrong)
    except Refused as refusal:
        sys.exit(str(refusal))
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.strip())
    main(sys.argv[1], sys.argv[2:])
