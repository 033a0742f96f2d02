#!/usr/bin/env python3
"""day --backdated: transactions of closed days are booked on a later day with their date as value date. No
earlier output changes, and the result is that of transactions with the date of the day.

usage: reopen.py LEDGERBATCH [--customers N] [--transactions N] [--kills N] [--seed S]
"""
import argparse
import random
import re
import sqlite3
import subprocess
import time
from pathlib import Path

import books
import small_batch
from books import check
from days import RULES, Bank, all_outputs, entries_of

CLOSED = 6
REOPENS = ("--backdated", "2024-01=invoice came late")
DAYS = {
    "2024-01-30": "account A:Cash  ; group:east\naccount B:Cash  ; group:east\n"
                  "2024-01-30 a\n  A:Cash  100.00 USD\n  Bank:Vault\n",
    "2024-01-31": "2024-01-31 b\n  B:Cash  50.00 USD\n  Bank:Vault\n",
    "2024-02-01": "2024-02-01 c\n  A:Cash  -1.00 USD\n  B:Cash\n",
    "2024-02-02": "2024-02-02 own\n  A:Cash  2.00 USD\n  Bank:Vault\n"
                  "2024-01-15 * (K-9) late\n  A:Cash  -20.00 USD = 81.00 USD\n  A:Income\n"
                  "2024-01-02 too much\n  B:Cash  -900.00 USD\n  Bank:Vault\n",
}  # fmt: skip


class SmallBank:
    """A bank with few clients; its days have the files of DAYS."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        folder.mkdir()
        for date, text in DAYS.items():
            (folder / f"{date}.journal").write_text(text)

    def day(self, date, *options, files=None, expect=0):
        files = [self.folder / f"{date}.journal"] if files is None else files
        return books.run(self.binary, "day", "--date", date, "--db", self.folder / "db", "--out", self.folder / "out",
                         "--commutative", "Bank:*", "--no-overdraft", "*:Cash", "--monthly", "statement,close",
                         *options, *files, expect=expect)  # fmt: skip

    def first_days(self):
        for date in list(DAYS)[:3]:
            self.day(date)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def read(self, name):
        return (self.folder / "out" / name).read_text()

    def query(self, *words):
        return books.run(self.binary, *words, "--db", self.folder / "db").stdout.decode()

    def outputs(self):
        return books.fingerprint(self.folder / "db", self.folder / "out")


def check_late(binary, folder):
    """A late invoice: refused by name, then booked on the day."""
    bank = SmallBank(binary, folder / "late")
    bank.first_days()
    before = {name: print_ for name, print_ in bank.outputs().items() if name != ".dump"}
    message = bank.day("2024-02-02", expect=2).stderr.decode()
    check("2024-02-02.journal:4: the day 2024-02-01 is closed already; --backdated reopens a month\n" in message
          and "2 errors" in message, message)  # fmt: skip
    message = bank.day("2024-02-02", "--backdated", "2024-02=why", expect=2).stderr.decode()
    check("2 errors" in message, message)
    printed = bank.day("2024-02-02", *REOPENS).stdout.decode()
    check("; backdated: 2 transactions\n" in printed, printed)
    posted = bank.read("2024-02-02/posted.journal")
    check("2024-02-02 * (K-9) late\n    ; value date: 2024-01-15\n" in posted, posted)
    check(posted.index(") late") > posted.index(" own"), "in the order of reading")
    check("; refused: overdraft" in posted and "\n; 2024-02-02 too much\n" in posted, posted)
    after = bank.outputs()
    books.check_same({name: after[name] for name in before}, before, "earlier outputs")
    status = bank.query("status")
    check("backdated: 2024-01: invoice came late\n" in status, status)
    register = bank.query("register", "A:Income")
    check(",2024-02-02,K-9,late (value date 2024-01-15),USD,20.00,20.00\n" in register, register)
    statement = bank.query("statement", "A")
    check(",2024-02-02,late (value date 2024-01-15),A:Cash,USD,-20.00,81.00\n" in statement, statement)
    database = sqlite3.connect(bank.folder / "db")
    check(database.execute("SELECT * FROM reopened").fetchall() == [(4, "2024-01", "invoice came late")], "the log")
    dates = database.execute("SELECT date, value_date FROM transactions WHERE value_date IS NOT NULL ORDER BY seq").fetchall()
    check(dates == [("2024-02-02", "2024-01-15"), ("2024-02-02", "2024-01-02")], f"{dates}")
    database.close()
    check("is finished" in bank.day("2024-02-02", *REOPENS).stdout.decode(), "the same command")
    message = bank.day("2024-02-02", "--backdated", "2024-01=other", expect=4).stderr.decode()
    check("has other input or rules" in message, message)
    # The month's end has the transaction in February's statement and close, with both dates.
    bank.day("2024-02-29", files=[])
    statement = bank.read("2024-02-29/statements/2024-02-east.csv")
    check("2024-02-02,late (value date 2024-01-15),A:Cash,USD,-20.00," in statement, statement)
    check("A,A:Income,USD,20.00" in bank.read("2024-02-29/close/2024-02-east.csv"), "it is closed in February")
    bank.query("verify")
    view = sqlite3.connect(bank.folder / "db").execute("SELECT text FROM statement_lines WHERE text LIKE '%late%'").fetchall()
    check(view == [("late (value date 2024-01-15)",)] * 2, f"{view}")
    # It can be taken back like any other one.
    seq = re.search(r"^A,posting,(\d+),2024-02-02,late", statement, re.M)[1]
    bank.day("2024-03-01", "--reverse", f"{seq}=not ours", files=[])
    check("Reversal of task" in bank.read("2024-03-01/posted.journal"), "a reversal")


def check_deferred(binary, folder):
    """If it is deferred, it keeps the date that it is about."""
    bank = SmallBank(binary, folder / "deferred")
    bank.first_days()
    bank.day("2024-02-02", *REOPENS, "--on-failure", "defer", "--fail-on", "A:Income", expect=CLOSED)
    deferred = bank.read("2024-02-02/deferred.csv")
    check(re.search(r"^\d+,2024-01-15,.*,A,\d+,18,failed", deferred, re.M), deferred)
    bank.day("2024-02-05", "--post-deferred", files=[])
    posted = bank.read("2024-02-05/posted.journal")
    check("2024-02-05 * (K-9) late\n    ; value date: 2024-01-15\n" in posted, posted)
    bank.query("verify")


def check_month_end(binary, folder):
    """A month whose end falls into the day: what is backdated is booked on the day, after that end."""
    bank = SmallBank(binary, folder / "end")
    bank.day("2024-01-30")
    late = bank.write("late.journal", "2024-01-15 late\n  A:Cash  -20.00 USD\n  A:Income\n"
                                      "2024-01-31 own\n  A:Cash  -1.00 USD\n  A:Income\n")  # fmt: skip
    bank.day("2024-02-01", *REOPENS, files=[late])
    check("A,A:Income,USD,1.00\n" in bank.read("2024-02-01/close/2024-01-east.csv"), "January is closed without it")
    check(bank.query("balances").count("A:Income,USD,20.00") == 1, bank.query("balances"))
    # With --rejects, a month that is not reopened is rejected, and a corrected file can be posted.
    more = bank.write("more.journal", "2023-12-31 older\n  A:Cash  -2.00 USD\n  A:Income\n" + "2024-01-03 late\n"
                      "  A:Cash  -3.00 USD\n  A:Income\n")  # fmt: skip
    bank.day("2024-02-02", *REOPENS, "--rejects", bank.folder / "rejects", files=[more])
    rejects = bank.folder / "rejects"
    check("more.journal:1: the day 2024-02-01 is closed already" in rejects.read_text(), rejects.read_text())
    bank.day("2024-02-03", "--backdated", "2023-12=year end", files=[rejects])
    check("A:Cash,USD,74.00" in bank.query("balances"), bank.query("balances"))
    bank.query("verify")


def check_usage(binary, folder):
    bank = SmallBank(binary, folder / "usage")
    message = bank.day("2024-01-30", *REOPENS, expect=2).stderr.decode()
    check("--backdated are about earlier days, and there are none" in message, message)
    bank.first_days()
    for words, message in (
        (["--backdated", "2024-1=x"], "--backdated takes a month and a reason"),
        (["--backdated", "2024-13=x"], "--backdated takes a month and a reason"),
        (["--backdated", "2024-01"], "--backdated takes a month and a reason"),
        (["--backdated", "2024-01="], "--backdated takes a month and a reason"),
        (["--backdated", "2024-01=a;b"], "--backdated takes a month and a reason"),
        ([*REOPENS, *REOPENS], "--backdated names 2024-01 twice"),
        ([*REOPENS, "--backdated", "2023-12=x"], "--backdated 2023-12: the files have no transaction"),
    ):  # fmt: skip
        found = bank.day("2024-02-02", *words, expect=2).stderr.decode()
        check(message in found, found)
    found = books.run(binary, "run", *REOPENS, bank.folder / "2024-01-30.journal", expect=2).stderr.decode()
    check("unknown option --backdated" in found, found)


def without_value_dates(outputs):
    return {name: re.sub(r" \(value date [-0-9]+\)|\n    ; value date: [-0-9]+", "", text) if isinstance(text, str) else text
            for name, text in outputs.items()}  # fmt: skip


def run_days(bank, files, options, workers, kills=0):
    """All days; those of `options` get more words. Each may be killed first."""
    killed = 0
    bank.clear()
    for date in bank.dates():
        words = [*bank.words(date, *options.get(date, ()), workers=workers), files[date]]
        if kills:
            process = subprocess.Popen([*words, "--commit-size", "3"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(bank.chance.uniform(0, 0.04))
            process.kill()
            killed += process.wait() == -9
        books.run(*words)
    return killed


def check_many(bank, options):
    """Some transactions of each day come on a later day: as if they had its date."""
    dates = bank.dates()
    late, dated = {date: "" for date in dates}, {date: "" for date in dates}
    months = {}
    for at, date in enumerate(dates):
        blocks = bank.days[date].rstrip("\n").split("\n\n")
        for block in blocks:
            to = dates[min(at + bank.chance.choice((1, 5, 30)), len(dates) - 1)] if bank.chance.random() < 0.05 else date
            late[to] += block + "\n\n"
            if to != date:
                months.setdefault(to, set()).add(date[:7])
            dated[to] += (to + block[10:] if to != date else block) + "\n\n"
    words = {to: [word for month in sorted(found) for word in ("--backdated", f"{month}=late")] for to, found in months.items()}
    folders = {}
    for name, texts in (("as-late", late), ("as-dated", dated)):
        (bank.folder / name).mkdir()
        folders[name] = {}
        for date in dates:
            folders[name][date] = bank.folder / name / f"{date}.journal"
            folders[name][date].write_text(texts[date])
    run_days(bank, folders["as-dated"], {}, 2)
    wanted = all_outputs(bank.outputs, dates)
    check("statements/2020-02-all.csv" in wanted, "there are month-ends")
    prints = None
    for workers in (1, 2, 8):
        run_days(bank, folders["as-late"], words, workers)
        found = all_outputs(bank.outputs, dates)
        books.check_same(without_value_dates(found), without_value_dates(wanted), f"as dated, {workers} workers")
        check("value date" in found["statements/2020-02-all.csv"] + found["posted.journal"], "both dates are shown")
        prints = prints or books.fingerprint(bank.database, bank.outputs)
        books.check_same(books.fingerprint(bank.database, bank.outputs), prints, f"{workers} workers")
        books.run(bank.binary, "verify", "--db", bank.database)
    count = sum(entries_of(bank.outputs / date / "posted.journal").count("; value date:") for date in dates)
    kills = 0
    while kills < options.kills:
        kills += run_days(bank, folders["as-late"], words, bank.chance.choice((1, 2, 8)), kills=1)
        books.check_same(books.fingerprint(bank.database, bank.outputs), prints, "after kills")
    return count, kills


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--customers", type=int, default=60)
    parser.add_argument("--transactions", type=int, default=1500)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    check("--monthly" in RULES, "the days have month-ends")
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        for test in (check_late, check_deferred, check_month_end, check_usage):
            test(binary, folder)
        bank = Bank(binary, folder, options.customers, options.transactions, options.seed)
        count, kills = check_many(bank, options)
        print(f"{count} are posted with a value date, {kills} kills")


if __name__ == "__main__":
    main()
