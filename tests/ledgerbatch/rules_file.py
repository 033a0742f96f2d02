#!/usr/bin/env python3
"""Rules files: the example of the documentation, the order of steps, what they post, what counts for a
resumed run, and the message for each fault.

usage: rules_file.py LEDGERBATCH
"""
import csv
import re
import shutil
import tempfile
from pathlib import Path

import books
from books import check

OTHER_RULES, INPUT_ERROR = 4, 2
PAGE = Path(__file__).resolve().parents[2] / "docs/ledgerbatch-rules.md"

JOURNAL = """\
account C1:Savings  ; group:east
account C2:Savings  ; group:west

2024-01-10 Opening
  C1:Savings  100.20 USD
  C2:Savings  100.60 USD
  C3:Savings  -250.00 USD
  C1:Checking  10 USD
  C2:Checking  1000.00 USD
  C1:Cash  5.00 EUR
  Bank:Vault

2024-01-20 Wages
  C1:Checking  70.00 USD
  C1:Income:Wages

2024-01-31 Food
  C2:Expenses:Food  12.30 USD
  C2:Savings
"""

STEPS = """\
commutative: 'Bank:*'
month-end:
  - step: fees
    accounts: '*:Checking'
    fee: [2.50 USD, 1.00 EUR]
    waived-from: 1000.00 USD
    house: Bank:Fees
  - step: accrual
    accounts: ['*:Savings']
    rate: 0.05
    minimum-balance: 0 USD
    rounding: half-up
    house: Bank:Interest
  - step: close
    groups: [east, all]
  - trial-balance
  - statement
"""
# Written down by hand: 100.20 x 0.05 / 12 = 0.4175; 88.30 x 0.05 / 12 = 0.3679. C3 is below zero.
POSTED = """\
2024-01-31 * (fees 2024-01 east) Fees
    C1:Checking                                     -2.50 USD = 77.50 USD
    Bank:Fees                                       2.50 USD = 2.50 USD

2024-01-31 * (accrual 2024-01 east) Interest
    C1:Savings                                      0.42 USD = 100.62 USD
    Bank:Interest                                   -0.42 USD = -0.42 USD

2024-01-31 * (close 2024-01 east) Month-end close
    C1:Income:Wages                                 70.00 USD = 0.00 USD
    C1:Equity:Retained                              -70.00 USD = -70.00 USD

2024-01-31 * (accrual 2024-01 west) Interest
    C2:Savings                                      0.37 USD = 88.67 USD
    Bank:Interest                                   -0.37 USD = -0.79 USD

"""
# A file, and the beginnings of all lines of the message about it.
FAULTS = [
    ("clent-depth: 1\n", ["1: 'clent-depth' is not a key of the rules; write client-depth, "]),
    ("clent-depth: 1\n", ["the nearest is 'client-depth'"]),
    ("client-depth: 1\nclient-depth: 2\n", ["2: 'client-depth' is given twice, first in line 1"]),
    ("client-depth: [1]\n", ["1: write a number of components, such as 1 here, not a list"]),
    ("client-depth: 0\n", ["1: '0' is no number from 1 to 1000"]),
    ("client-depth: 1x\n", ["1: '1x' is no number from 1 to 1000"]),
    ("client-depth:\n", ["1: nothing is written here; write a number of components"]),
    ("client-by: name\n", ["1: 'name' is not depth, file, payee or tag:NAME"]),
    ("client-by: payee\nclient-depth: 2\n", ["--client-depth are for --client-by depth only"]),
    ("commutative: []\n", ["1: the list is empty; leave the key out, or write an item"]),
    ("commutative: [a: b]\n", ["1: write a pattern of account names, such as '*:Savings' here, not keys"]),
    ('commutative: "a\\tb"\n', ["1: a control character is in 'a?b'"]),
    ("month-end: statement\n", ["1: write a list of steps here, each after a '-'"]),
    ("month-end:\n  - acrual\n", ["2: 'acrual' is not a step; write statement, ", "the nearest is 'accrual'"]),
    ("month-end:\n  - groups: x\n", ["2: a step needs the key 'step', such as step: accrual"]),
    ("month-end:\n  - accrual\n", ["2: the step accrual needs the key 'accounts'",
                                   "2: the step accrual needs either 'rate', or 'rates'"]),
    ("month-end:\n  - step: accrual\n    accounts: a\n    rate: 1,5\n",
     ["4: '1,5' is no rate; write a decimal, such as 0.015 for 1.5 per cent"]),
    ("month-end:\n  - step: accrual\n    accounts: a\n    rate: 0.0123456789\n",
     ["4: the rate '0.0123456789' has more than 9 decimals"]),
    ("month-end:\n  - step: accrual\n    accounts: a\n    rates:\n      2024-02-30: 0.1\n",
     ["5: '2024-02-30' is no day; write one such as 2024-03-05"]),
    ("month-end:\n  - step: accrual\n    accounts: a\n    rates: {2024-02-02: 0.1, 2024-02-02: 0.2}\n",
     ["4: the day is not after the one before"]),
    ("month-end:\n  - step: accrual\n    accounts: a\n    rate: 0.1\n    rounding: half-evn\n",
     ["5: 'half-evn' is not a rounding; write half-even, half-up or down; the nearest is 'half-even'"]),
    ("month-end:\n  - step: fees\n    accounts: a\n    fee: 1.5\n    house: b\n",
     ["4: '1.5' is no amount; write one such as 2.50 USD"]),
    ("month-end:\n  - step: fees\n    accounts: a\n    fee: 0 USD\n    house: b\n",
     ["4: the amount '0 USD' is not positive"]),
    ("month-end:\n  - step: fees\n    accounts: a\n    fee: [1 USD, USD 2]\n    house: b\n",
     ["4: there is an amount in USD before; write one for each commodity"]),
    ("month-end:\n  - step: close\n    accounts: a\n", ["3: 'accounts' is not a key of the step close"]),
    ("month-end:\n  - step: close\n    groups: a\n  - step: close\n    groups: b\n  - close\n",
     ["6: there is a step close in line 2; a month has one of them for each group"]),
    ("month-end:\n" + "  - step: accrual\n    accounts: a\n    rate: 0.1\n" * 65,
     ["194: there are more than 64 steps"]),
    ("x: [\n", ["2: this is no YAML: "]),
    ("- a\n", ["1: write the keys of the rules here, not a list"]),
    ("# nothing\n", ["1: the file has no rules"]),
    ("client-depth: 1\n---\nclient-depth: 1\n", ["3: a second document begins; write one document only"]),
]  # fmt: skip
# Files without a fault in themselves that do not fit the books.
STRANGERS = [
    (STEPS.replace("[east, all]", "[eest, all]"), "14: no client is in the group 'eest'; the nearest is 'east'"),
    (STEPS.replace("'*:Checking'", "'*:Cheking'"),
     "3: no account matches '*:Cheking'; the nearest is 'C1:Checking'"),
    (STEPS.replace("'*:Checking'", "'Bank:*'"), "3: 'Bank:*' matches house accounts only"),
    (STEPS.replace("2.50 USD", "2.50 UDS"),
     "3: nothing in the books has the commodity 'UDS'; the nearest is 'USD'"),
    (STEPS.replace("2.50 USD", "2.505 USD"), "3: an amount has more digits than USD has in the books"),
    (STEPS.replace("house: Bank:Fees", "house: Bnk:Fees"),
     "3: 'Bnk:Fees' is no house account: name it in 'commutative', too"),
    (STEPS.replace("'Bank:*'", "['Bank:*', 'Bnk:*']"), "1: no account matches 'Bnk:*'; the nearest is"),
    (STEPS.replace("'*:Checking'", "'*:Cheking'").replace("'*:Savings'", "'*:Saving'"),
     "8: no account matches '*:Saving'"),
]  # fmt: skip


class Trial:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.journal, self.rules = folder / "input.journal", folder / "rules.yaml"
        self.journal.write_text(JOURNAL)

    def run(self, rules, *options, database=None, expect=0):
        self.rules.write_text(rules)
        self.database, self.out = database or self.folder / "db", self.folder / "out"
        if not database:
            self.database.unlink(missing_ok=True)
            shutil.rmtree(self.out, ignore_errors=True)
        result = books.run(self.binary, "run", "--db", self.database, "--out", self.out, "--rules",
                           self.rules, *options, self.journal, expect=expect)  # fmt: skip
        return (result.stdout + result.stderr).decode()


def check_example(trial):
    """The example of the page, on books that have what it names."""
    rules = re.search(r"```yaml\n(.*?)```", PAGE.read_text(), re.S).group(1)
    trial.run(rules)
    kinds = re.findall(r"\((\w+) 2024-01 east\)", (trial.out / "posted.journal").read_text())
    check(kinds == ["fees", "accrual", "close"], f"the steps of the example: {kinds}")


def closing_balances(folder):
    """The closing balances of the last month's statements. A balance of zero is not in them."""
    found = {}
    last = max(path.name[:7] for path in (folder / "statements").iterdir())
    for path in (folder / "statements").glob(f"{last}-*"):
        for row in csv.reader(path.open()):
            if row[1] == "closing":
                found[row[5], row[6]] = row[8]
    return found


def check_steps(trial):
    trial.run(STEPS)
    posted = (trial.out / "posted.journal").read_text()
    check(posted[posted.index("2024-01-31 * "):] == POSTED, posted)
    check(sorted(path.name for path in (trial.out / "close").iterdir()) ==
          ["2024-01-all.csv", "2024-01-east.csv"], "the closes of two groups")  # fmt: skip
    house = {tuple(row[:2]): row[2] for row in csv.reader((trial.out / "balances.csv").open())
             if row[0].startswith("Bank:")}  # fmt: skip
    check(house["Bank:Fees", "USD"] == "2.50" and house["Bank:Interest", "USD"] == "-0.79", house)
    books.run(trial.binary, "verify", "--db", trial.database, "--out", trial.out)


def check_statements_tie(outputs):
    """Each closing balance of the last statements is the one in balances.csv, and the other way round."""
    balances = {tuple(row[:2]): row[2] for row in csv.reader((outputs / "balances.csv").open())
                if row[0] != "account"}  # fmt: skip
    check(balances and closing_balances(outputs) == balances, "statements tie to balances.csv")


def check_place_of_statement(trial):
    """Statements tie to balances.csv if they are the last step, and not if they are the first one."""
    trial.run(STEPS)
    check_statements_tie(trial.out)
    first = STEPS.replace("  - statement\n", "").replace("month-end:\n", "month-end:\n  - statement\n")
    trial.run(first)
    check(closing_balances(trial.out)["C1:Checking", "USD"] == "80.00", "a statement as the first step")


def trial_line(trial, account):
    text = (trial.out / "trial-balance/2024-01.csv").read_text()
    return next(line for line in text.splitlines() if f",{account}," in line)


def check_trial_balance(trial):
    """A trial balance has what the steps before it have posted."""
    trial.run(STEPS)
    check(trial_line(trial, "C1:Checking").endswith(",77.50,0.00"), "after the fees")
    moved = STEPS.replace("  - trial-balance\n", "").replace("month-end:\n", "month-end:\n  - trial-balance\n")
    trial.run(moved)
    check(trial_line(trial, "C1:Checking").endswith(",80.00,0.00"), "before the fees")


def check_short_form(trial):
    """--monthly is the short form of a file: the same outputs, and the same rules."""
    trial.rules.write_text("commutative: 'Bank:*'\nmonth-end:\n  - statement\n  - step: accrual\n"
                           "    accounts: '*Savings*'\n    rate: 0.050\n  - close\n  - trial-balance\n")
    prints = []
    for number, words in enumerate([["--rules", trial.rules],
                                    ["--commutative", "Bank:*", "--monthly", "statement,accrual=0.05,close,trial-balance"]]):
        database, out = trial.folder / f"short{number}", trial.folder / f"short{number}.out"
        books.run(trial.binary, "run", "--db", database, "--out", out, *words, trial.journal)
        prints.append(books.fingerprint(database, out))
    books.check_same(prints[1], prints[0], "--monthly")


def check_identity(trial):
    """A database belongs to what the file says, not to its name or its comments."""
    trial.run(STEPS)
    database = trial.database
    said = trial.run("# other\n" + STEPS.replace("rate: 0.05", "rate: 0.050 # the same"), database=database)
    check("nothing to do" in said, said)
    for other in (STEPS.replace("rate: 0.05", "rate: 0.06"), STEPS.replace("half-up", "down"),
                  STEPS.replace("[east, all]", "[east]"), STEPS.replace("  - statement\n", ""),
                  STEPS.replace("fee: [2.50 USD, 1.00 EUR]", "fee: 2.50 USD")):  # fmt: skip
        said = trial.run(other, database=database, expect=OTHER_RULES)
        check("other input or rules" in said, said)


def check_faults(trial):
    for rules, wanted in FAULTS:
        said = trial.run(rules, expect=INPUT_ERROR)
        for message in wanted:
            place = f"{trial.rules}:{message}" if message[0].isdigit() else message
            check(place in said, f"{rules!r}: {message!r} is not in {said!r}")
    for rules, message in STRANGERS:
        said = trial.run(rules, expect=INPUT_ERROR)
        check(message in said, f"{message!r} is not in {said!r}")
    check(not trial.database.exists(), "a database after a fault")
    said = trial.run(STEPS, "--commutative", "Bank:*", "--monthly", "close", expect=INPUT_ERROR)
    check(f"{trial.rules}:1: --commutative is given, too" in said, said)
    check(f"{trial.rules}:3: --monthly or --accrual-accounts is given, too" in said, said)
    said = trial.run(STEPS, "--rules", trial.rules, expect=INPUT_ERROR)
    check("--rules is given twice" in said, said)
    books.run(trial.binary, "run", "--db", trial.folder / "none", "--rules", trial.folder / "no.yaml",
              trial.journal, expect=1)  # fmt: skip


def main():
    binary = books.program()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(binary, Path(folder))
        check_example(trial)
        check_steps(trial)
        check_place_of_statement(trial)
        check_trial_balance(trial)
        check_short_form(trial)
        check_identity(trial)
        check_faults(trial)
    print("rules files: good")


if __name__ == "__main__":
    main()
