#!/usr/bin/env python3
"""No text of the input is a formula in a spreadsheet: in no CSV file and in no listing. Amounts stay
numbers, and every text can be read back.

usage: spreadsheet.py LEDGERBATCH
"""
import csv
import io
import re
import tempfile
from pathlib import Path

import books
from books import check, compare

NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
# Columns that have numbers and dates of ledgerbatch's own.
NUMBERS = {"seq", "line", "since", "age", "amount", "balance", "debit", "credit", "transactions", "debits",
           "credits", "net"}  # fmt: skip
# The letters that a text may begin with, and so do names, where journals allow them.
TEXT_BEGINS = ["=", "+", "-", "@", "\t", "\r", "'", "''", "'=", '"', '"=', "x"]
NAME_BEGINS = ["+", "-", "'", "''", '"', "x"]
SYMBOLS = ["=1+1", "+X", "-X", "@SUM(1)", "'", "X"]
CODE = "=HYPERLINK(,\"z\")"
GROUPS = ["=cmd", "+1", "-1", "@x", "'y", "z"]


def journal():
    """Clients with hostile names in hostile groups, texts and codes. One transaction is refused."""
    lines = []
    for begin, group in zip(NAME_BEGINS, GROUPS):
        lines.append(f"account {begin}1:Cash  ; group:{group}")
        for text in TEXT_BEGINS:
            lines.append(f"2024-01-05 ({text}{CODE[1:-1]}) {text}1+1, \"x\"\n  {begin}1:Cash  7.50 USD\n"
                         f"  {begin}1:Income  -7.50 USD")  # fmt: skip
        lines += [f"2024-01-06 x\n  {begin}1:Cash  -1 \"{symbol}\"\n  {begin}2:Cash" for symbol in SYMBOLS]
        lines.append(f"2024-01-07 =refused\n  {begin}2:Overdrawn  -9 USD\n  {begin}2:Cash")
    return "\n".join(lines) + "\n"


def check_table(what, text, seen):
    """Checks the cells of one table, and adds the texts that they stand for."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    check(rows, f"{what} is empty")
    for row in rows[1:]:
        check(len(row) == len(rows[0]), f"{what}: {row}")
        for column, cell in zip(rows[0], row):
            if column in NUMBERS:
                check(cell == "" or NUMBER.fullmatch(cell), f"{what}: {column} is {cell!r}")
            else:
                check(not cell.startswith(("=", "+", "-", "@", "\t", "\r")), f"{what}: {column} is {cell!r}")
                seen.add(compare.text_of(cell))


def check_quotes(what, text):
    """A cell that begins with an apostrophe is in quotes, so that no reader takes it off."""
    check(not re.search(r"(^|,)'", text, re.M), f"{what}: an apostrophe without quotes")


def wanted_texts():
    names = {f"{begin}1:{account}" for begin in NAME_BEGINS for account in ("Cash", "Income")}
    # The reader takes blanks off both ends of a text.
    texts = {f"{begin}1+1, \"x\"".lstrip("\t ") for begin in TEXT_BEGINS}
    return names | texts | set(SYMBOLS)


def main():
    binary = books.program()
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        (folder / "=1.journal").write_bytes(journal().encode())
        batch = ["--db", "db", "--out", "out", "--no-overdraft", "*:Overdrawn", "--end-month", "--monthly",
                 "statement,close,trial-balance", "=1.journal"]  # fmt: skip
        books.run(binary, "run", "--fail-on", "-2:Cash", "--on-failure", "defer", *batch, expect=6,
                  cwd=folder)  # fmt: skip
        files = sorted(folder.glob("out/**/*.csv"))
        names = {str(file.relative_to(folder / "out")).split("/")[0] for file in files}
        check(names == {"balances.csv", "close", "deferred.csv", "refused.csv", "statements", "totals.csv",
                        "trial-balance"}, f"{names}")  # fmt: skip
        tables = {str(file): file.read_bytes().decode() for file in files}
        for words in (["balances"], ["trial-balance"], ["register", "x1:Cash"], ["statement", "x1"]):
            found = books.run(binary, *words, "--db", "db", cwd=folder).stdout
            tables[words[0]] = re.sub(r"\\x([0-9a-f]{2})", lambda m: chr(int(m[1], 16)), found.decode())
        for begin in ("=1.journal", "+"):
            check(any(f"\"'{begin}" in text for text in tables.values()), f"no cell begins with {begin}")
        seen = set()
        for what, text in tables.items():
            check_table(what, text, seen)
            check_quotes(what, text)
        missing = wanted_texts() - seen
        check(not missing, f"not read back: {sorted(missing)}")
    print(f"spreadsheet: no formula in {len(tables)} tables, and {len(seen)} texts read back")


if __name__ == "__main__":
    main()
