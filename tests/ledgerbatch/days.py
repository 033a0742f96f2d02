#!/usr/bin/env python3
"""The command day: days posted one by one have the outputs of one run, with any number of workers and
over kills; deferred transactions are carried from day to day; earlier outputs never change; what is not
a next day is refused by name.

usage: days.py LEDGERBATCH [--customers N] [--transactions N] [--kills N] [--seed S]
"""
import argparse
import csv
import random
import re
import shutil
import subprocess
import time
from pathlib import Path

import books
import small_batch
from books import check

CLOSED = 6
RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Checking",
         "--monthly", "statement,accrual=0.03,close,trial-balance"]  # fmt: skip
LAST_DAY = "2020-03-31"


def split_by_day(journal):
    """The transactions of each date; the input is in the order of dates."""
    days = {}
    for block in journal.split("\n\n"):
        if re.match(r"\d{4}-", block):
            days.setdefault(block[:10], []).append(block)
    return {date: "\n\n".join(blocks) + "\n" for date, blocks in days.items()}


class Bank:
    def __init__(self, binary, folder, customers, transactions, seed, rules=RULES):
        self.binary, self.folder, self.chance, self.rules = binary, folder, random.Random(seed), rules
        self.database, self.outputs = folder / "db", folder / "out"
        self.whole = folder / "whole.journal"
        self.whole.write_bytes(books.run(
            binary, "generate", "smallbank", "--customers", customers, "--transactions", transactions,
            "--months", 3, "--seed", seed).stdout)  # fmt: skip
        self.days = split_by_day(self.whole.read_text())
        (folder / "in").mkdir()
        for date, text in self.days.items():
            (folder / "in" / f"{date}.journal").write_text(text)

    def words(self, date, *options, workers=2):
        """Some days have several dates, and some have none."""
        return [str(word) for word in (
            self.binary, "day", "--date", date, "--workers", workers, "--db", self.database, "--out",
            self.outputs, *self.rules, *options)]  # fmt: skip

    def file(self, date):
        return self.folder / "in" / f"{date}.journal"

    def day(self, date, *options, workers=2, expect=0):
        return books.run(*self.words(date, *options, workers=workers), self.file(date), expect=expect)

    def clear(self):
        books.run("rm", "-rf", self.outputs, *self.folder.glob("db*"))

    def dates(self):
        return sorted(self.days)


def rows_of(path):
    """Lines without the place in the input, which depends on how the input is divided into files."""
    with open(path, newline="", encoding="utf-8") as source:
        return [[cell for at, cell in enumerate(row) if at not in (2, 3)] for row in csv.reader(source)]


def entries_of(path):
    """A journal without the styles of commodities at its begin."""
    return re.sub(r"\A(commodity .*\n +format .*\n\n)+", "", path.read_text())


def all_outputs(outputs, folders):
    """The outputs of several days as one run would write them."""
    found = {"posted.journal": "", "refused.csv": []}
    for folder in folders:
        place = outputs / folder
        found["posted.journal"] += entries_of(place / "posted.journal")
        found["refused.csv"] += rows_of(place / "refused.csv")[1:]
        found["balances.csv"] = (place / "balances.csv").read_text()
        for path in place.rglob("*/*.csv"):
            name = str(path.relative_to(place))
            check(name not in found, f"{name} is an output of two days")
            found[name] = path.read_text()
    return found


def check_one_by_one(bank):
    """All days, one after the other, against one day with all files and one run."""
    books.run(bank.binary, "run", "--db", bank.folder / "run.db", "--out", bank.folder / "run", "--end-month", *bank.rules,
              bank.whole)  # fmt: skip
    wanted = all_outputs(bank.folder, ["run"])
    check("statements/2020-03-all.csv" in wanted, "the run has statements")
    for workers in (1, 2, 8):
        bank.clear()
        folders = []
        for date in bank.dates():
            bank.day(date, workers=workers)
            folders.append(date)
        if folders[-1] != LAST_DAY:
            books.run(*bank.words(LAST_DAY, workers=workers))
            folders.append(LAST_DAY)
        found = all_outputs(bank.outputs, folders)
        books.check_same(found, wanted, f"days one by one, {workers} workers")
        books.run(bank.binary, "verify", "--db", bank.database)
    status = books.run(bank.binary, "status", "--db", bank.database).stdout.decode()
    check(f"day: {LAST_DAY}\nstate: finished" in status, status)
    prints = books.fingerprint(bank.database, bank.outputs)
    bank.clear()
    files = [bank.file(date) for date in bank.dates()]
    books.run(*bank.words(LAST_DAY, workers=8), *files)
    books.check_same(all_outputs(bank.outputs, [LAST_DAY]), wanted, "all days at once")
    return prints


def check_run_then_days(bank):
    """A run that ends in the middle of a month, and days behind it: the month ends in a day."""
    wanted = all_outputs(bank.folder, ["run"])
    dates = bank.dates()
    for last in ("2020-01-15", "2020-02-29", "2020-03-02"):
        bank.clear()
        before = [date for date in dates if date <= last]
        result = books.run(bank.binary, "run", "--db", bank.database, "--out", bank.outputs / "run", *bank.rules,
                           *map(bank.file, before)).stdout.decode()  # fmt: skip
        is_over = last == "2020-02-29" and before[-1] == last
        message = f"; {before[-1][:7]} is not over, and has no month-end (--end-month)\n"
        check((message in result) != is_over, result)
        months = int(before[-1][5:7]) - (not is_over)
        found = sorted(path.name for path in (bank.outputs / "run").glob("statements/*"))
        files = [f"2020-0{n + 1}-{group}.csv" for n in range(months) for group in ("(house)", "all")]
        check(found == files, f"statements of the run until {last}: {found}")
        after = [date for date in dates if date > last]
        for date in after:
            bank.day(date)
        if after[-1] != LAST_DAY:
            books.run(*bank.words(LAST_DAY))
            after.append(LAST_DAY)
        books.check_same(all_outputs(bank.outputs, ["run", *after]), wanted, f"days behind a run until {last}")
        books.run(bank.binary, "verify", "--db", bank.database)


def kill(bank, date, seconds):
    process = subprocess.Popen([*bank.words(date, "--commit-size", 5, workers=bank.chance.choice((1, 2, 8))),
                                bank.file(date)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    time.sleep(bank.chance.uniform(0, seconds))
    process.kill()
    return process.wait() == -9


def check_kills(bank, wanted, count):
    """Each day is killed, and its command repeated."""
    kills = 0
    while kills < count:
        bank.clear()
        for date in bank.dates():
            kills += kill(bank, date, 0.05)
            bank.day(date)
        if bank.dates()[-1] != LAST_DAY:
            books.run(*bank.words(LAST_DAY))
        books.check_same(books.fingerprint(bank.database, bank.outputs), wanted, "after kills")
    return kills


def deferred_of(folder):
    with open(folder / "deferred.csv", newline="", encoding="utf-8") as source:
        return list(csv.DictReader(source))


def run_deferring(bank, workers):
    """A client fails on the 10th, stays held, and is posted on the first day of the next month."""
    bank.clear()
    heads = []
    for date in bank.dates():
        options, code = [], 0
        if date == "2020-01-10":
            options = ["--on-failure", "defer", "--fail-on", f"{bank.failing}:*"]
        elif date == "2020-02-01":
            options = ["--post-deferred"]
        if "2020-01-10" <= date < "2020-02-01":
            code = CLOSED
        result = bank.day(date, *options, workers=workers, expect=code)
        heads += re.findall(r"^head (.*)$", result.stdout.decode(), re.M)
    return heads


def check_carried(bank):
    journal = bank.days["2020-01-10"]
    bank.failing = re.search(r"C\d+", journal).group()
    heads = run_deferring(bank, 1)
    check(len(heads) == len(bank.dates()), "each day prints a head")
    first = deferred_of(bank.outputs / "2020-01-10")
    january = max(date for date in bank.dates() if date < "2020-02-01")
    last = deferred_of(bank.outputs / january)
    check(len(last) > len(first) > 0, f"{len(first)} and {len(last)} transactions are deferred")
    check({row["client"] for row in last} == {bank.failing}, "only one client is held")
    check(last[0]["age"] == str(int(january[8:]) - 10) and last[0]["since"] == first[0]["since"], f"{last[0]}")
    for date in bank.dates():
        if "2020-01-10" < date < "2020-02-01":
            text = bank.days[date]
            mine = sum(f"{bank.failing}:" in block for block in text.split("\n\n"))
            found = [row for row in deferred_of(bank.outputs / date) if row["date"] == date]
            check(len(found) == mine, f"{date}: {len(found)} are deferred, not {mine}")
    check(deferred_of(bank.outputs / "2020-02-01") == [], "nothing is left")
    posted = (bank.outputs / "2020-02-01" / "posted.journal").read_text()
    dates = re.findall(r"^2020-02-01 .*\n    ; value date: (2020-01-\d\d)$", posted, re.M)
    refused = re.findall(r"^; 2020-02-01 .*", posted, re.M)
    check(dates == sorted(dates) and len(last) - len(refused) <= len(dates) <= len(last),
          f"{len(dates)} of {len(last)} are posted with a value date")  # fmt: skip
    wanted = books.fingerprint(bank.database, bank.outputs)
    for workers in (2, 8):
        check(run_deferring(bank, workers) == heads, f"other heads with {workers} workers")
        books.check_same(books.fingerprint(bank.database, bank.outputs), wanted, f"{workers} workers, deferred")
    books.run(bank.binary, "verify", "--db", bank.database, "--head", heads[-1])
    check_reading(bank)


def check_reading(bank):
    """ledger and hledger read the journals of all days, one after the other."""
    if not (shutil.which("ledger") and shutil.which("hledger")):
        print("not compared with ledger and hledger, which are not installed")
        return
    joined = bank.folder / "joined"
    joined.mkdir(exist_ok=True)
    dates = bank.dates()
    (joined / "posted.journal").write_text("".join((bank.outputs / date / "posted.journal").read_text() for date in dates))
    shutil.copy(bank.outputs / dates[-1] / "balances.csv", joined)
    for what, _, wrong in books.compare.compare_readings(joined, []):
        check(not wrong, f"{what}: {wrong[:5]}")


# --- small days ---

MONDAY = """\
commodity USD
    format 1000.00 USD
account A:Cash  ; group:east
2024-01-29 wages
  A:Cash  100.00 USD
  Bank:Vault
"""
TUESDAY = """\
2024-01-30 to a new client, whose name is the first
  A:Cash  -40.00 USD
  AA:Cash  40.00 USD = 40.00 USD
2024-01-30 asserted from the opening balance
  A:Cash  -10.00 USD = 50.00 USD
  Bank:Vault  10.00 USD = -90.00 USD
"""


class SmallBank:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def command(self, name, *words, expect=0):
        return books.run(self.binary, name, "--db", self.folder / "db", "--out", self.folder / "out",
                         "--commutative", "Bank:*", *words, expect=expect)  # fmt: skip

    def day(self, date, *words, expect=0):
        return self.command("day", "--date", date, *words, expect=expect)

    def refused(self, date, words, *message):
        """A day that is refused, and changes nothing."""
        before = books.fingerprint(self.folder / "db", self.folder / "out")
        result = self.day(date, *words, expect=None)
        check(result.returncode in (2, 4), f"exit {result.returncode}: {result.stderr.decode()}")
        for part in message:
            check(part in result.stderr.decode(), f"'{part}' is not in {result.stderr.decode()}")
        books.check_same(books.fingerprint(self.folder / "db", self.folder / "out"), before, "a day that is refused")


def check_small(binary, folder):
    bank = SmallBank(binary, folder / "small")
    monday, tuesday = bank.write("mo.journal", MONDAY), bank.write("tu.journal", TUESDAY)
    bank.day("2024-01-29", monday)
    again = bank.day("2024-01-29", monday).stdout.decode()
    check("is finished: 1 task is done; nothing to do" in again, again)
    result = bank.day("2024-01-30", tuesday).stdout.decode()
    check("day 2024-01-30: 2 transactions of 2 clients" in result, result)
    check(re.search(r"opening +100.00 +-100.00 +0.00\n +closing +90.00 +-90.00 +0.00\n", result), result)
    for date in ("2024-01-29", "2024-01-30"):
        check((bank.folder / "out" / date / "balances.csv").exists(), f"{date} has outputs of its own")
    # A day without transactions, which ends the month.
    bank.day("2024-01-31", "--monthly", "statement,close")
    statement = (bank.folder / "out/2024-01-31/statements/2024-01-east.csv").read_text()
    check("A,posting,1,2024-01-29" in statement and "A,closing,,,,A:Cash,USD,,50.00" in statement, statement)
    check((bank.folder / "out/2024-01-31/close/2024-01-east.csv").exists(), "the group is kept")
    more = bank.write("more.journal", MONDAY.replace("01-29", "01-31"))
    bank.refused("2024-01-31", [more], "the day 2024-01-31 has other input or rules")
    bank.refused("2024-01-30", [tuesday], "the day 2024-01-31 is closed: --date takes a later one")
    again = bank.write("again.journal", TUESDAY)
    bank.refused("2024-02-01", [again], "again.journal:1: the day 2024-01-31 is closed already",
                 "again.journal:4: the day 2024-01-31 is closed already")  # fmt: skip
    after = bank.write("after.journal", MONDAY.replace("01-29", "02-03"))
    bank.refused("2024-02-02", [after], "after.journal:4: the date is after the day, 2024-02-02")
    decimals = bank.write("decimals.journal", MONDAY.replace("01-29", "02-01").replace("100.00", "1.005"))
    bank.refused("2024-02-01", [decimals], "amounts of USD with 3 decimals, and the database keeps 2")
    other = bank.write("other.journal", MONDAY.replace("01-29", "02-01").replace("group:east", "group:west"))
    bank.refused("2024-02-01", [other], "the client 'A' is already in the group 'east'")
    bank.refused("2024-02-01", ["--commutative", "AA:*"], "the account 'AA:Cash' belonged to 'AA' until now")
    result = bank.command("run", monday, expect=4).stderr.decode()
    check("belongs to other input or rules" in result and "ledgerbatch day" in result, result)
    for words, message in ((["day", monday], "day needs --date"), (["day", "--date", "2024-02-30"], "--date takes a day"),
                           (["run", "--post-deferred", monday], "unknown option --post-deferred")):  # fmt: skip
        result = bank.command(*words, expect=2).stderr.decode()
        check(message in result, result)


def check_files(binary, folder):
    """A file is posted once, even if its dates are later ones; a file without transactions can come again."""
    bank = SmallBank(binary, folder / "files")
    common = bank.write("common.journal", "account A:Cash  ; group:east\n")
    late = bank.write("late.journal", "include common.journal\n2024-02-02 x\n  A:Cash  1.00 USD\n  Bank:Vault\n")
    bank.day("2024-02-02", late, common)
    next_day = bank.write("next.journal", "include common.journal\n2024-02-03 x\n  A:Cash  1.00 USD\n  Bank:Vault\n")
    bank.day("2024-02-03", next_day, common)
    # The same bytes are refused before their dates are looked at closely: the dates are closed, too.
    bank.refused("2024-02-04", [late], "late.journal:2: the day 2024-02-03 is closed already")
    csv_file = bank.write("t.csv", "seq,date,from,to,amount,commodity\n1,2024-02-05,A:Cash,B:Cash,2.00,USD\n")
    bank.day("2024-02-05", "--csv", csv_file)
    # A day that ends later than its files: they cannot be posted on the next one.
    bank.day("2024-02-09")
    bank.refused("2024-02-10", ["--csv", csv_file], "the day 2024-02-09 is closed already")


def check_after_run(binary, folder):
    """A day follows a run, and the month that the run has ended is closed."""
    bank = SmallBank(binary, folder / "after")
    monday = bank.write("mo.journal", MONDAY)
    bank.command("run", "--end-month", "--monthly", "statement", monday)
    tuesday = bank.write("tu.journal", TUESDAY)
    bank.refused("2024-01-30", [tuesday], "the day 2024-01-31 is closed: --date takes a later one")
    february = bank.write("feb.journal", TUESDAY.replace("01-30", "02-01"))
    bank.day("2024-02-29", "--monthly", "statement", february)
    statement = (bank.folder / "out/2024-02-29/statements/2024-02-east.csv").read_text()
    check("A,opening,,,,A:Cash,USD,,100.00" in statement, statement)


def check_open_month(binary, folder):
    """A month that is not over has no month-end. The next days are in it, and one of them ends it."""
    bank = SmallBank(binary, folder / "open")
    monday, tuesday = bank.write("mo.journal", MONDAY), bank.write("tu.journal", TUESDAY)
    result = bank.command("run", "--monthly", "statement,trial-balance", monday).stdout.decode()
    check("1 transaction of 1 client; 2024-01 is not over, and has no month-end (--end-month)" in result, result)
    check(not (bank.folder / "out/statements").exists(), "a statement of a month that is not over")
    bank.day("2024-01-30", "--monthly", "statement,trial-balance", tuesday)
    bank.day("2024-02-02", "--monthly", "statement,trial-balance")
    statement = (bank.folder / "out/2024-02-02/statements/2024-01-east.csv").read_text()
    check("A,posting,1,2024-01-29" in statement and "A,closing,,,,A:Cash,USD,,50.00" in statement, statement)
    check((bank.folder / "out/2024-02-02/trial-balance/2024-01.csv").exists(), "the trial balance of January")
    check("not over" not in bank.command("check", monday).stdout.decode(), "a month that is open without month-ends")
    for words, message in ((["day", "--date", "2024-02-29", "--end-month"], "--end-month is not for days"),
                           (["check", "--end-month", monday], "--end-month is about month-ends, and neither")):  # fmt: skip
        said = bank.command(*words, expect=2).stderr.decode()
        check(message in said, said)
    message = bank.command("check", "--end-month", "--monthly", "close", monday).stdout.decode()
    check("1 transaction and 1 month-end rollup" in message, message)


def check_held(binary, folder):
    """No day follows one that is held. Its retry takes its files."""
    bank = SmallBank(binary, folder / "held")
    monday, tuesday = bank.write("mo.journal", MONDAY), bank.write("tu.journal", TUESDAY)
    bank.day("2024-01-29", monday)
    bank.day("2024-01-30", "--fail-on", "AA:*", tuesday, expect=3)
    bank.refused("2024-01-31", [], "the day 2024-01-30 is not finished")
    result = bank.command("retry", "--all", "--day", "2024-01-31", tuesday, expect=2).stderr.decode()
    check("--day is not for days" in result, result)
    bank.command("retry", "--all", tuesday)
    found = (bank.folder / "out/2024-01-30/balances.csv").read_text()
    check(found == "account,commodity,amount\nA:Cash,USD,50.00\nAA:Cash,USD,40.00\nBank:Vault,USD,-90.00\n", found)


# Client B appears first in a transaction that is deferred, and AB, between A and B, after that.
CARRIED = ["2024-03-01 a\n  A:Cash  5.00 USD\n  Bank:Vault\n2024-03-01 b\n  B:Cash  7.00 USD\n  A:Cash\n",
           "2024-03-02 c\n  AB:Cash  1.00 USD\n  Bank:Vault\n",
           "2024-03-03 d\n  B:Cash  2.00 USD\n  AB:Cash\n"]  # fmt: skip


def check_new_clients(binary, folder):
    """New clients change the numbers of the others; what is deferred keeps its client."""
    bank = SmallBank(binary, folder / "new")
    files = [bank.write(f"{n}.journal", text) for n, text in enumerate(CARRIED)]
    defers = ["--on-failure", "defer", "--fail-on", "B:*"]
    bank.day("2024-03-01", *defers, files[0], expect=CLOSED)
    bank.day("2024-03-02", files[1], expect=CLOSED)
    message = bank.day("2024-03-03", files[2], expect=CLOSED).stderr.decode()
    check("1 of 1 transactions are deferred, and 1 of earlier days, of 1 held client and 2 others" in message, message)
    rows = deferred_of(bank.folder / "out/2024-03-03")
    check([(row["client"], row["since"], row["age"]) for row in rows] == [("B", "2", "2"), ("B", "2", "0")], f"{rows}")
    status = books.run(binary, "status", "--db", bank.folder / "db").stdout.decode()
    check("deferred by earlier days: 1" in status, status)
    # It fails again, and is carried on with the date that it is about.
    bank.day("2024-03-04", *defers, "--post-deferred", expect=CLOSED)
    rows = deferred_of(bank.folder / "out/2024-03-04")
    check([(row["client"], row["date"], row["age"]) for row in rows]
          == [("B", "2024-03-01", "3"), ("B", "2024-03-03", "1")], f"{rows}")  # fmt: skip
    bank.day("2024-03-05", "--post-deferred")
    found = (bank.folder / "out/2024-03-05/balances.csv").read_text()
    wanted = "account,commodity,amount\nA:Cash,USD,-2.00\nAB:Cash,USD,-1.00\nB:Cash,USD,9.00\nBank:Vault,USD,-6.00\n"
    check(found == wanted, found)
    posted = (bank.folder / "out/2024-03-05/posted.journal").read_text()
    check("2024-03-05 b\n    ; value date: 2024-03-01\n" in posted, posted)
    books.run(binary, "verify", "--db", bank.folder / "db")


ENTRIES = """\
2024-05-02 * (K-1) sale
  A:Cash  30.00 USD
  A:Stock  -2 X @@ 30.00 USD
2024-05-02 too much
  A:Cash  -500.00 USD
  Bank:Vault
2024-05-02 fails
  B:Cash  4.00 USD
  A:Cash
2024-05-02 behind it
  B:Cash  6.00 USD
  A:Cash
"""


def check_operator(binary, folder):
    """An operator skips what is deferred, and takes back what is posted, each with a reason."""
    bank = SmallBank(binary, folder / "operator")
    entries = bank.write("e.journal", ENTRIES)
    rules = ["--no-overdraft", "A:Cash"]
    bank.day("2024-05-02", *rules, "--on-failure", "defer", "--fail-on", "B:*", entries, expect=CLOSED)
    for words, message in (
        (["--skip", "1=x"], "--skip 1: no earlier day has deferred this"),
        (["--reverse", "2=x"], "--reverse 2: no earlier day has posted a transaction with this seq"),
        (["--reverse", "9=x"], "--reverse 9: no earlier day has posted"),
        (["--reverse", "1=x", "--reverse", "1=y"], "--reverse names 1 twice"),
        (["--reverse", "1"], "take a seq and a reason"),
        (["--skip", "3=a;b"], "take a seq and a reason"),
        (["--reverse", "1="], "take a seq and a reason"),
    ):  # fmt: skip
        bank.refused("2024-05-03", [*rules, *words], message)
    # One of the deferred transactions is skipped; the other one stays deferred, and its client held.
    bank.day("2024-05-03", *rules, "--skip", "3=sent twice", expect=CLOSED)
    out = bank.folder / "out/2024-05-03"
    check("; refused: skipped: sent twice\n; 2024-05-03 fails\n" in (out / "posted.journal").read_text(), "the reason")
    check([row["seq"] for row in deferred_of(out)] == ["4"], "one is left")
    bank.day("2024-05-04", *rules, "--post-deferred", "--reverse", "1=not sold")
    posted = (bank.folder / "out/2024-05-04/posted.journal").read_text()
    # 6 are paid to B first; then the account does not have the 30 any more.
    check("; refused: overdraft" in posted, posted)
    bank.day("2024-05-05", "--reverse", "1=not sold")
    posted = (bank.folder / "out/2024-05-05/posted.journal").read_text()
    check("2024-05-05 * (K-1) Reversal of task 1 of 2024-05-02: not sold\n" in posted, posted)
    check(re.search(r"A:Stock +2 X @@ 30.00 USD = 0 X", posted), posted)
    found = (bank.folder / "out/2024-05-05/balances.csv").read_text()
    check(found == "account,commodity,amount\nA:Cash,USD,-6.00\nB:Cash,USD,6.00\n", found)
    bank.refused("2024-05-06", ["--reverse", "1=again"], "--reverse 1: task 8 has reversed it already")
    again = bank.day("2024-05-05", "--reverse", "1=not sold").stdout.decode()
    check("is finished" in again, again)
    bank.refused("2024-05-05", ["--reverse", "1=another reason"], "has other input or rules")
    message = bank.command("run", "--skip", "3=x", entries, expect=2).stderr.decode()
    check("unknown option --skip" in message, message)
    first = SmallBank(binary, folder / "first")
    message = first.day("2024-05-02", "--skip", "3=x", entries, expect=2).stderr.decode()
    check("are about earlier days, and there are none" in message, message)
    first.command("run", "--fail-on", "B:*", entries, expect=3)
    message = first.command("retry", "--all", "--skip", "3=x", entries, expect=2).stderr.decode()
    check("--post-deferred, --skip, --reverse and --backdated are for days" in message, message)


def check_checks(binary, folder):
    """The command check says what would be, writes outputs only where it is told to, and changes nothing."""
    bank = SmallBank(binary, folder / "check")
    entries = bank.write("e.journal", ENTRIES)
    rules = ["--no-overdraft", "A:Cash"]
    result = bank.command("check", *rules, entries).stdout.decode()
    check("this is a check: " in result and "refused: task 2, 2024-05-02 too much: overdraft" in result, result)
    check(not (bank.folder / "db").exists(), "a check makes no database")
    many = bank.write("many.journal", "".join(f"2024-05-01 r{n}\n  A:Cash  -{n}.00 USD\n  Bank:Vault\n" for n in range(1, 13)))
    result = books.run(binary, "check", "--commutative", "Bank:*", *rules, many).stdout.decode()
    check("r10: overdraft" in result and "refused: 2 more\n" in result, f"no file lists the rest: {result}")
    fails = [*rules, "--on-failure", "defer", "--fail-on", "B:*"]
    outputs = ["--out", bank.folder / "preview"]
    message = books.run(binary, "check", "--db", bank.folder / "db", *outputs, "--date", "2024-05-02", "--commutative",
                        "Bank:*", *fails, entries, expect=CLOSED).stderr.decode()  # fmt: skip
    check(message == "ledgerbatch: 2 of 4 transactions would be deferred\n", message)
    bank.day("2024-05-02", *fails, entries, expect=CLOSED)
    before = books.fingerprint(bank.folder / "db", bank.folder / "out")
    wanted = books.fingerprint(bank.folder / "db", bank.folder / "out/2024-05-02")
    books.check_same(books.fingerprint(bank.folder / "db", bank.folder / "preview/2024-05-02"), wanted, "the outputs")
    more = ["--date", "2024-05-31", "--post-deferred", "--commutative", "Bank:*", "--monthly", "statement"]
    result = books.run(binary, "check", "--db", bank.folder / "db", *outputs, *more)
    check("day 2024-05-31: 2 transactions and 1 month-end rollup" in result.stdout.decode(), result.stdout.decode())
    books.check_same(books.fingerprint(bank.folder / "db", bank.folder / "out"), before, "a check")
    books.run(binary, "day", "--db", bank.folder / "db", "--out", bank.folder / "out", *more)
    books.check_same(books.fingerprint(bank.folder / "db", bank.folder / "preview/2024-05-31"),
                     books.fingerprint(bank.folder / "db", bank.folder / "out/2024-05-31"), "the outputs of a day")
    for words, message in ((["--post-deferred"], "need --date"), (["--date", "2024-06-01", "--until", "2024-06-01"],
                                                                  "--until is not for days")):  # fmt: skip
        result = bank.command("check", *words, entries, expect=2).stderr.decode()
        check(message in result, result)


def check_until(binary, folder):
    """Later transactions are left out, as if they were not in the files; a month that is not over has no end."""
    bank = SmallBank(binary, folder / "until")
    whole = bank.write("whole.journal", MONDAY + TUESDAY + MONDAY[MONDAY.index("2024") :].replace("01-29", "02-20"))
    part = bank.write("part.journal", MONDAY + TUESDAY)
    for until, rules, name in (("2024-01-31", ["--monthly", "statement"], "month"), ("2024-02-19", [], "none")):
        outputs = bank.folder / name
        result = books.run(binary, "run", "--db", bank.folder / f"{name}.db", "--out", outputs, "--commutative", "Bank:*",
                           "--until", until, *rules, whole).stdout.decode()  # fmt: skip
        check("; after --until: 1 transaction\n" in result, result)
        shorter = bank.folder / f"{name}-shorter"
        books.run(binary, "run", "--db", bank.folder / f"{name}-shorter.db", "--out", shorter, "--commutative", "Bank:*",
                  *rules, part)  # fmt: skip
        for path in ("balances.csv", "posted.journal", "totals.csv"):
            check((outputs / path).read_bytes() == (shorter / path).read_bytes(), f"--until {until}: {path}")
    open_month = books.run(binary, "check", "--commutative", "Bank:*", "--until", "2024-01-30", "--monthly", "statement",
                           whole).stdout.decode()  # fmt: skip
    check("3 transactions of 2 clients; after" in open_month, open_month)
    message = bank.command("run", "--until", "2024-01-01", whole, expect=2).stderr.decode()
    check("all transactions are after --until" in message, message)


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--customers", type=int, default=60)
    parser.add_argument("--transactions", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        for small in (check_small, check_files, check_after_run, check_open_month, check_held, check_new_clients, check_operator, check_checks,
                      check_until):
            small(binary, folder)
        bank = Bank(binary, folder, options.customers, options.transactions, options.seed)
        wanted = check_one_by_one(bank)
        check_run_then_days(bank)
        kills = check_kills(bank, wanted, options.kills)
        check_carried(bank)
        print(f"{len(bank.days)} days one by one, {kills} kills")


if __name__ == "__main__":
    main()
