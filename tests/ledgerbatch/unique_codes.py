#!/usr/bin/env python3
"""--unique-codes: a transaction whose code is in use, by the same input or by an earlier day, is a fault of the
input that names the first one. Nothing else changes.

usage: unique_codes.py LEDGERBATCH [--customers N] [--transactions N] [--kills N] [--seed S]
"""
import argparse
import random
import sqlite3
from pathlib import Path

import books
import small_batch
from books import check
from days import Bank, all_outputs
from reopen import run_days

CLOSED = 6


class Case:
    def __init__(self, binary, folder, name):
        self.binary, self.folder = binary, folder / name
        self.folder.mkdir()

    def command(self, command, *words, text=None, expect=0):
        files = []
        if text is not None:
            (self.folder / "f.journal").write_text(text)
            files = ["f.journal"]
        return books.run(self.binary, command, "--db", "db", *words, *files, expect=expect, cwd=self.folder)

    def day(self, date, *words, text=None, expect=0):
        return self.command("day", "--date", date, "--unique-codes", *words, text=text, expect=expect)

    def refused(self, date, message, *words, text=None):
        found = self.day(date, *words, text=text, expect=2).stderr.decode()
        check(message in found, f"not '{message}': {found}")

    def has_index(self):
        connection = sqlite3.connect(self.folder / "db")
        found = connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'transactions_by_code'").fetchone()[0]
        connection.close()
        return found == 1


def entry(date, code, amount="1.00", client="A"):
    return f"{date} * ({code}) x\n  {client}:Cash  {amount} USD\n  Bank\n"


def check_one_input(binary, folder):
    """Each repetition is named, with the first one; what has no code is not concerned."""
    case = Case(binary, folder, "one")
    text = (entry("2024-01-05", "K-1") + entry("2024-01-06", "K-2") + entry("2024-01-04", "K-1") + "2024-01-05 x\n  A:Cash  1 USD\n"
            "  Bank\n2024-01-05 () y\n  A:Cash  1 USD\n  Bank\n2024-01-05 () z\n  A:Cash  1 USD\n  Bank\n"
            + entry("2024-01-07", "K-2") + entry("2024-01-07", "K-2"))  # fmt: skip
    found = case.command("run", "--unique-codes", text=text, expect=2).stderr.decode().splitlines()
    check(found == ["f.journal:7: the code 'K-1' was used before; see f.journal:1",
                    "f.journal:19: the code 'K-2' was used before; see f.journal:4",
                    "f.journal:22: the code 'K-2' was used before; see f.journal:4",
                    "ledgerbatch: 3 errors in the input; nothing was written"], "\n".join(found))  # fmt: skip
    case.command("run", "--unique-codes", "--rejects", "r", text=text)
    rejects = (case.folder / "r").read_text()
    check(rejects.count("\n; f.journal:") == 3 and "; see f.journal:4\n2024-01-07 * (K-2) x\n" in rejects, rejects)
    reasons = [row[0] for row in sqlite3.connect(case.folder / "db").execute("SELECT reason FROM rejected ORDER BY n")]
    check(reasons == ["7: the code 'K-1' was used before", "19: the code 'K-2' was used before",
                      "22: the code 'K-2' was used before"], f"no path in the database: {reasons}")  # fmt: skip
    case.command("run", "--rejects", "r", text=text, expect=4)
    case.command("run", "--db", "other", text=text)


def check_days(binary, folder):
    """Codes of earlier days: with the index, and before there is one."""
    case = Case(binary, folder, "days")
    case.command("day", "--date", "2024-01-05", text=entry("2024-01-05", "K-1") + entry("2024-01-05", "K-1"))
    check(not case.has_index(), "no index without the option")
    again = entry("2024-01-06", "N-1") + entry("2024-01-06", "K-1")
    case.refused("2024-01-06", "f.journal:4: the code 'K-1' was used before, by task 1 of 2024-01-05\n", text=again)
    overdraft = entry("2024-01-06", "O-1", "-500.00")
    case.day("2024-01-06", "--no-overdraft", "A:Cash", text=entry("2024-01-06", "N-1") + overdraft)
    check(case.has_index(), "an index")
    for code, seq, day in (("K-1", 1, "2024-01-05"), ("N-1", 3, "2024-01-06")):
        case.refused("2024-01-07", f"the code '{code}' was used before, by task {seq} of {day}\n", text=entry("2024-01-07", code))
    # A refused transaction does not use its code. The same command is the same batch.
    text = entry("2024-01-07", "O-1", "5.00") + entry("2024-01-07", "D-1", client="D") + entry("2024-01-07", "E-1", client="D")
    words = ["--on-failure", "defer", "--fail-on", "D:*"]
    case.day("2024-01-07", *words, text=text, expect=CLOSED)
    check("is finished" not in case.day("2024-01-07", *words, text=text, expect=CLOSED).stdout.decode(), "closed")
    for code, words in (("O-1", "task 5 of 2024-01-07"), ("D-1", "task 6, which is deferred"),
                        ("E-1", "task 7, which is deferred")):  # fmt: skip
        case.refused("2024-01-08", f"was used before, by {words}\n", text=entry("2024-01-08", code))
    # The replacement of what is skipped can have its code; what is posted late keeps it.
    case.refused("2024-01-08", "the code 'E-1' was used before, by task 7, which is deferred", "--post-deferred",
                 "--skip", "6=wrong", text=entry("2024-01-08", "E-1"))  # fmt: skip
    case.day("2024-01-08", "--post-deferred", "--skip", "6=wrong", text=entry("2024-01-08", "D-1", "3.00", "D"))
    case.refused("2024-01-09", "the code 'E-1' was used before, by task 9 of 2024-01-08\n", text=entry("2024-01-09", "E-1"))
    # A reversal has the code of what it takes back, which stays in use.
    case.day("2024-01-09", "--reverse", "3=not ours", text=entry("2024-01-09", "Z-1"))
    case.refused("2024-01-10", "the code 'N-1' was used before, by task 3 of 2024-01-06", text=entry("2024-01-10", "N-1"))
    case.command("day", "--date", "2024-01-10", text=entry("2024-01-10", "N-1") + entry("2024-01-10", "M-1"))
    case.refused("2024-01-11", "the code 'M-1' was used before, by task 14 of 2024-01-10", text=entry("2024-01-11", "M-1"))
    case.command("verify")
    found = case.command("check", "--date", "2024-01-11", "--unique-codes", text=entry("2024-01-11", "M-1"), expect=2)
    check("was used before" in found.stderr.decode(), found.stderr.decode())


def check_transfers(binary, folder):
    """The code of a transfer is its seq, so it goes on from day to day."""
    case = Case(binary, folder, "csv")
    header = "seq,date,from,to,amount,commodity\n"
    case.day("2024-01-05", "--csv", text=header + "1,2024-01-05,A:C,B:C,5,USD\n2,2024-01-05,A:C,B:C,5,USD\n")
    case.refused("2024-01-06", "f.journal:2: the code '2' was used before, by task 2 of 2024-01-05", "--csv",
                 text=header + "2,2024-01-06,A:C,B:C,5,USD\n")  # fmt: skip
    case.day("2024-01-06", "--csv", text=header + "3,2024-01-06,A:C,B:C,5,USD\n")


def check_many(bank, options):
    """Days with the option have the outputs of those without, with any number of workers and over kills."""
    files = {date: bank.file(date) for date in bank.dates()}
    run_days(bank, files, {}, 2)
    wanted = all_outputs(bank.outputs, bank.dates())
    words = {date: ["--unique-codes"] for date in bank.dates()}
    prints = None
    for workers in (1, 2, 8):
        run_days(bank, files, words, workers)
        books.check_same(all_outputs(bank.outputs, bank.dates()), wanted, f"{workers} workers")
        prints = prints or books.fingerprint(bank.database, bank.outputs)
        books.check_same(books.fingerprint(bank.database, bank.outputs), prints, f"{workers} workers")
    books.run(bank.binary, "verify", "--db", bank.database)
    kills = 0
    while kills < options.kills:
        kills += run_days(bank, files, words, bank.chance.choice((1, 2, 8)), kills=1)
        books.check_same(books.fingerprint(bank.database, bank.outputs), prints, "after kills")
    return kills


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--customers", type=int, default=60)
    parser.add_argument("--transactions", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        for test in (check_one_input, check_days, check_transfers):
            test(binary, folder)
        bank = Bank(binary, folder, options.customers, options.transactions, options.seed)
        kills = check_many(bank, options)
        print(f"{len(bank.days)} days, {kills} kills")


if __name__ == "__main__":
    main()
