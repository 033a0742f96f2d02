#!/usr/bin/env python3
"""Interest on daily balances and fees per posting: worked examples, an independent computation, days one
by one, any number of workers, kills.

usage: interest.py LEDGERBATCH [--kills N] [--seed S]
"""
import argparse
import calendar
import datetime
import random
import shutil
import sqlite3
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import books
import days
import determinism
import kill_resume
import rules_file
import small_batch
from books import check

INPUT_ERROR = 2

# February of a leap year. The rate of savings changes on the 15th.
FEBRUARY = """\
2024-02-01 opening
  A:Savings   10000.00 USD
  C:Deposit     999.99 USD
  D:Checking    100.00 USD
  Bank:Vault

2024-02-10 in
  A:Savings    5000.00 USD
  C:Deposit       0.01 USD
  Bank:Vault

2024-02-11 below zero
  B:Savings    -500.00 USD
  D:Checking    500.00 USD

2024-02-20 out
  A:Savings   -3000.00 USD
  D:Checking   3000.00 USD

2024-02-21 back
  B:Savings     500.00 USD
  D:Checking   -500.00 USD
"""
MARCH = """\
2024-03-31 two postings on one account
  D:Checking     10.00 USD
  D:Checking     20.00 USD
  Bank:Vault
"""
STEPS = """\
commutative: 'Bank:*'
month-end:
  - step: accrual
    accounts: '*:Savings'
    balances: daily
    days: {days}
    rates:
      2024-01-01: 0.02
      2024-02-15: 0.03
    house: Bank:Interest
  - step: accrual
    accounts: '*:Deposit'
    balances: daily
    days: {days}
    rate: 0.03
    minimum-balance: 1000.00 USD
    house: Bank:Interest
  - step: fees
    accounts: '*:Checking'
    fee-per-posting: 0.25 USD
    waived-from: 3129.00 USD
    house: Bank:Fees
  - statement
  - trial-balance
"""
# Written down by hand. Days x balance x rate of February:
#   A  1st to 9th:    9 x 10000 x 0.02 = 1800    10th to 14th:  5 x 15000 x 0.02 = 1500
#      15th to 19th:  5 x 15000 x 0.03 = 2250    20th to 29th: 10 x 12000 x 0.03 = 3600    sum 9150
#   B  11th to 14th:  4 x -500 x 0.02 = -40      15th to 20th:  6 x -500 x 0.03 = -90      sum -130
#   C  10th to 29th: 20 x 1000 x 0.03 = 600, since it is below the minimum before
#   9150 / 366 = 25;       -130 / 366 = -0.355;  600 / 366 = 1.639
#   9150 / 365 = 25.068;   -130 / 365 = -0.356;  600 / 365 = 1.644
#   9150 / 360 = 25.417;   -130 / 360 = -0.361;  600 / 360 = 1.667
# March, with the interest of February in the balance, for 366 days:
#   A  31 x 12025.00 x 0.03 = 11183.25, / 366 = 30.555
#   B  31 x -0.36 x 0.03, / 366 = -0.0009
#   C  31 x 1001.64 x 0.03 = 931.5252, / 366 = 2.545
# D has four postings in February and two in March, when its balance is 3129.00: the limit.
INTEREST = {
    "actual": {("A", 2): "25.00", ("B", 2): "-0.36", ("C", 2): "1.64", ("A", 3): "30.56", ("C", 3): "2.55"},
    "365": {("A", 2): "25.07", ("B", 2): "-0.36", ("C", 2): "1.64"},
    "360": {("A", 2): "25.42", ("B", 2): "-0.36", ("C", 2): "1.67"},
}  # fmt: skip
FEES = {("D", 2): "-1.00"}

# April has 30 days: 6.00 x 30 x 0.01 / 360 is half a cent, of 18.00 it is one and a half.
HALVES = """\
2024-04-01 opening
  A:Savings  6.00 USD
  B:Savings  18.00 USD
  C:Savings  -6.00 USD
  Bank:Vault

2024-04-30 the last day
  D:Cash  1.00 USD
  Bank:Vault
"""
HALF_STEPS = """\
commutative: 'Bank:*'
month-end:
  - step: accrual
    accounts: '*:Savings'
    balances: daily
    days: 360
    rate: 0.01
    rounding: {rounding}
    minimum-interest: {minimum}
    house: Bank:Interest
"""
ROUNDED = {
    ("half-even", "0 USD"): {"B": "0.02"},
    ("half-up", "0 USD"): {"A": "0.01", "B": "0.02", "C": "-0.01"},
    ("half-up", "0.02 USD"): {"B": "0.02"},
    ("down", "0 USD"): {"B": "0.01"},
}

# Rules for the books of other tests, and what the computation of this test has to know of them.
RATES = [("2019-01-01", Fraction("0.012")), ("2020-01-17", Fraction("0.031")), ("2020-03-02", Fraction("0.005"))]
MINIMUM = Fraction(20)
BANK_STEPS = """\
commutative: 'Bank:*'
no-overdraft: '*:Checking'
month-end:
  - step: fees
    accounts: '*:Checking'
    fee-per-posting: 0.35 USD
    house: Bank:Fees
  - step: accrual
    accounts: '*:Savings'
    balances: daily
    days: actual
    rates: {2019-01-01: 0.012, 2020-01-17: 0.031, 2020-03-02: 0.005}
    minimum-balance: 20 USD
    house: Bank:Interest
  - step: accrual
    accounts: '*:Savings'
    rate: 0.01
  - close
  - trial-balance
  - statement
"""


def generated(database, kind, account):
    """What a kind of step has posted to accounts: the amount by client and month."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT r.account, r.date, r.amount FROM register r JOIN transactions t USING(seq)"
                                  " WHERE t.kind = ? AND r.account LIKE ?", (kind, f"%:{account}")).fetchall()
    return {(name.split(":")[0], int(date[5:7])): amount for name, date, amount in rows}


def check_examples(binary, folder):
    """The figures by hand: in one run, and in days, of which the last two end a month."""
    rules = folder / "rules.yaml"
    whole = folder / "whole.journal"
    whole.write_text(FEBRUARY + "\n" + MARCH)
    files = {}
    for block in (FEBRUARY + "\n" + MARCH).split("\n\n"):
        files[block[:10]] = folder / f"{block[:10]}.journal"
        files[block[:10]].write_text(block + "\n")
    for basis, wanted in INTEREST.items():
        rules.write_text(STEPS.format(days=basis))
        for form in ("run", "days"):
            database = folder / f"{form}-{basis}"
            words = ["--db", database, "--out", folder / f"{form}-{basis}.out", "--rules", rules]
            if form == "run":
                books.run(binary, "run", *words, whole)
            for date in sorted({*files, "2024-02-29"}) if form == "days" else []:
                books.run(binary, "day", "--date", date, *words, *([files[date]] if date in files else []))
            found = {**generated(database, "accrual", "Savings"), **generated(database, "accrual", "Deposit")}
            found = {key: amount for key, amount in found.items() if key in wanted or key[1] == 2}
            check(found == wanted, f"{form}, {basis}: {found}")
            fees = generated(database, "fees", "Checking")
            check(fees == FEES, f"{form}: fees {fees}")
            books.run(binary, "verify", "--db", database)


def check_history(binary, folder):
    """An ordinary day does not read what was posted before in its month: it does without these rows. The day
    that ends the month reads them."""
    rules, database = folder / "rules.yaml", folder / "history"
    rules.write_text(STEPS.format(days="365"))
    words = ["--db", database, "--out", folder / "history.out", "--rules", rules]
    first, *others = FEBRUARY.split("\n\n")
    for text in (first, *others):
        journal = folder / f"history-{text[:10]}.journal"
        journal.write_text(text + "\n")
        books.run(binary, "day", "--date", text[:10], *words, journal)
        if text is first:
            with sqlite3.connect(database) as connection:
                connection.execute("DELETE FROM transactions")
    message = books.run(binary, "day", "--date", "2024-02-29", *words, expect=1).stderr.decode()
    check("a posting is of no transaction" in message, message)


def check_halves(binary, folder):
    journal, rules = folder / "halves.journal", folder / "halves.yaml"
    journal.write_text(HALVES)
    for number, ((rounding, minimum), wanted) in enumerate(ROUNDED.items()):
        rules.write_text(HALF_STEPS.format(rounding=rounding, minimum=minimum))
        database = folder / f"halves{number}"
        books.run(binary, "run", "--db", database, "--out", folder / "halves.out", "--rules", rules, journal)
        found = {client: amount for (client, _), amount in generated(database, "accrual", "Savings").items()}
        check(found == wanted, f"{rounding}, {minimum}: {found}")


def check_options(binary, folder):
    """What does not fit daily balances is refused."""
    journal, rules = folder / "halves.journal", folder / "options.yaml"
    good = HALF_STEPS.format(rounding="down", minimum="0 USD")
    for text, options, message in (
        (good.replace("    days: 360\n", ""), [], "daily balances need the key 'days': 365, 360 or actual"),
        (good.replace("    balances: daily\n", ""), [], "'days' is about daily balances; write balances: daily, too"),
        (good.replace("days: 360", "days: 364"), [], "'364' is not a number of days of a year; write 365, 360 or actual"),
        (good.replace("daily", "dayly"), [], "the nearest is 'daily'"),
        (good, ["--on-quarantine", "fail"], "--on-quarantine fail is not for daily balances"),
    ):  # fmt: skip
        rules.write_text(text)
        said = books.run(binary, "run", "--db", folder / "no.db", "--rules", rules, *options, journal,
                         expect=INPUT_ERROR).stderr.decode()  # fmt: skip
        check(message in said, f"{message!r} is not in {said!r}")


# --- an independent computation ---


def rate_of(day):
    text = day.isoformat()
    return next(rate for date, rate in reversed(RATES) if date <= text)


def rounded(value):
    """Half to even, at two decimals."""
    return Fraction(round(value * 100), 100)


class Account:
    def __init__(self):
        self.closing = {}  # the balance at the end of each day on which it changes
        self.balance = Fraction(0)
        self.postings = 0

    def interest(self, year, month):
        """The sum over the days of the month, with the balance so far on its last day."""
        length = calendar.monthrange(year, month)[1]
        changes = sorted(self.closing.items())
        total, balance, at = Fraction(0), Fraction(0), 0
        for number in range(1, length + 1):
            day = datetime.date(year, month, number)
            while at < len(changes) and changes[at][0] <= day:
                balance = changes[at][1]
                at += 1
            total += balance * rate_of(day) if balance >= MINIMUM else 0
        return rounded(total / (366 if calendar.isleap(year) else 365))


def check_computed(database):
    """Computes every fee and all daily interest from the postings before it, one posting at a time."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute("SELECT r.seq, r.n, r.account, r.date, r.amount, t.kind FROM register r JOIN"
                                  " transactions t USING(seq) ORDER BY r.seq, r.n").fetchall()
        first_accruals = {min(seqs) for seqs in pairs(connection)}
    accounts, compared = defaultdict(Account), 0
    for seq, _, name, date, amount, kind in rows:
        account, day, amount = accounts[name], datetime.date.fromisoformat(date), Fraction(amount)
        if name.endswith(":Savings") and seq in first_accruals:
            wanted = account.interest(day.year, day.month)
            check(amount == wanted, f"{name} {date}: the interest is {amount}, not {wanted}")
            compared += 1
        if name.endswith(":Checking") and kind == "fees":
            wanted = -Fraction("0.35") * account.postings
            check(amount == wanted, f"{name} {date}: the fee is {amount}, not {wanted}")
            account.postings = 0
            compared += 1
        account.balance += amount
        account.closing[day] = account.balance
        account.postings += kind == "post"
    check(compared > 300, f"only {compared} amounts were compared")
    return compared


def pairs(connection):
    """The two accruals of each group and month: the one of daily balances is the first."""
    found = defaultdict(list)
    for seq, code in connection.execute("SELECT seq, code FROM transactions WHERE kind = 'accrual'"):
        found[code].append(seq)
    check(all(len(seqs) == 2 for seqs in found.values()), "two accruals a month and group")
    return found.values()


def check_bank(binary, folder, seed, kills):
    """Days one by one against one run, for any number of workers, and over kills of days."""
    rules = folder / "bank.yaml"
    rules.write_text(BANK_STEPS)
    bank = days.Bank(binary, folder, 60, 900, seed, ["--rules", rules])
    wanted = days.check_one_by_one(bank)
    rules_file.check_statements_tie(bank.outputs / days.LAST_DAY)
    days.check_run_then_days(bank)
    compared = check_computed(folder / "run.db")
    check_read_alike(folder / "run")
    return compared, days.check_kills(bank, wanted, kills)


def check_read_alike(outputs):
    if not (shutil.which("ledger") and shutil.which("hledger")):
        print("not compared with ledger and hledger, which are not installed")
        return
    for what, _, wrong in books.compare.compare_readings(outputs, []):
        check(not wrong, f"{what}: {wrong[:5]}")


def check_killed_run(binary, folder, seed, count):
    """A run is killed in the middle of months, and resumed."""
    chance = random.Random(seed)
    journal, _ = determinism.smallbank(binary, folder, 4000, seed)
    rules = folder / "killed.yaml"
    rules.write_text(BANK_STEPS)
    batch = kill_resume.Batch(binary, folder, journal, ["--rules", rules])
    wanted, seconds = batch.reference()
    kills = 0
    while kills < count:
        batch.clear()
        for _ in range(chance.randint(1, 5)):
            kills += batch.kill_once(chance.choice((1, 2, 8)), chance.choice((10, 50, 300)),
                                     chance.uniform(0, seconds * 1.2))  # fmt: skip
        books.run(*batch.command(chance.choice((1, 2, 8)), 500))
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, f"after {kills} kills")
    return kills


def check_failures(binary, folder, seed):
    """A client fails in the middle of a month. Held and tried again, the batch ends like an undisturbed one.
    Deferred, it is the same with any number of workers."""
    journal, _ = determinism.smallbank(binary, folder, 3000, seed)
    rules = folder / "failing.yaml"
    rules.write_text(BANK_STEPS)
    failing = ["--fail-on", "C000007:*"]

    def do(command, name, *options, workers=2, expect=0):
        books.run(binary, command, "--workers", workers, "--db", folder / f"{name}.db", "--out", folder / name,
                  "--rules", rules, "--end-month", *options, journal, expect=expect)  # fmt: skip
        return books.fingerprint(folder / f"{name}.db", folder / name)

    wanted = do("run", "undisturbed")
    for policy in ("exclude", "hold"):
        do("run", policy, *failing, "--on-quarantine", policy, expect=3)
        books.check_same(do("retry", policy, "--all", "--on-quarantine", policy), wanted, f"tried again, {policy}")
    found = []
    for workers in (1, 2, 8):
        name = f"deferred{workers}"
        closed = do("run", name, *failing, "--on-failure", "defer", workers=workers, expect=6)
        found.append((closed, do("retry", name, "--all", workers=workers)))
        for at in (0, 1):
            books.check_same(found[-1][at], found[0][at], f"deferred, {workers} workers")
    check_computed(folder / "deferred1.db")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=8)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("seed", seed, flush=True)
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        check_examples(binary, folder)
        check_history(binary, folder)
        check_halves(binary, folder)
        check_options(binary, folder)
        for name in ("bank", "killed", "failing"):
            (folder / name).mkdir()
        check_failures(binary, folder / "failing", seed)
        compared, kills = check_bank(binary, folder / "bank", seed, options.kills)
        kills += check_killed_run(binary, folder / "killed", seed, options.kills)
    print(f"{compared} amounts are those of an independent computation; {kills} kills")


if __name__ == "__main__":
    main()
