#!/usr/bin/env python3
"""Clients by file, payee and tag: each account gets the client's name in front. The sums over all clients
are the balances of ledger and hledger, and both read what was posted.

usage: client_by.py LEDGERBATCH
"""
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path

import books
import compare
from books import check

ANNA = """\
account Assets:Bank
alias food = Expenses:Food

2024-01-02 Opening
    Assets:Bank  100.00 EUR
    Equity:Opening

2024-01-05 * (7) Corner: the  shop | bread and butter  ; trip: Rome, who:me
    food  10.00 EUR
    Assets:Cash  = -10.00 EUR

2024-01-05 Corner: the shop
    [Assets:Bank]  -4.00 EUR
    [Budget:Food]  4.00 EUR

2024-02-03 ! #1 Books
    ; trip: Oslo
    Expenses:Books  20.00 EUR
    Assets:Cash
"""
BOB = """\
2024-01-03 Opening  ; trip:Rome
    Assets:Bank  7.00 EUR
    Equity:Opening  -7.00 EUR

2024-02-04
    Assets:Cash  1.00 EUR
    Equity:Opening
"""
# What the clients' balances of cash are, by the kind of client.
CASH = {
    "file": {"anna": "-30.00", "bob": "1.00"},
    "payee": {"Corner- the shop": "-10.00", "-1 Books": "-20.00", "none": "1.00"},
    "tag:trip": {"Rome": "-10.00", "Oslo": "-20.00", "none": "1.00"},
}


class Folder:
    def __init__(self, binary, path):
        self.binary, self.path = binary, path

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")

    def run(self, *words, expect=0):
        result = subprocess.run([self.binary, *words], capture_output=True, cwd=self.path)
        said = (result.stdout + result.stderr).decode(errors="replace")
        check(result.returncode == expect, f"{words}: exit {result.returncode}, expected {expect}: {said}")
        return said

    def post(self, database, kind, *words, expect=0):
        return self.run("run", "--db", database, "--out", f"{database}-out", "--client-by", kind, *words, expect=expect)

    def balances(self, database):
        return books.our_balances(self.path / f"{database}-out" / "balances.csv")


def without_client(balances):
    sums = {}
    for (account, symbol), amount in balances.items():
        key = account.split(":", 1)[1], symbol
        sums[key] = sums.get(key, Decimal(0)) + amount
    return {key: amount for key, amount in sums.items() if amount}


def check_judges(folder, database, journals):
    ours = folder.balances(database)
    posted = [folder.path / f"{database}-out" / "posted.journal"]
    for program, balances in compare.PROGRAMS:
        check(not compare.find_differences(ours, balances(posted)), f"{program} reads posted.journal otherwise")
        wrong = compare.find_differences(without_client(ours), balances(journals))
        check(not wrong, f"{database}: {program} reads the input otherwise: {wrong}")


def check_kinds(folder):
    journals = [folder.path / "anna.journal", folder.path / "bob.journal"]
    for number, (kind, wanted) in enumerate(CASH.items()):
        database = f"kind{number}"
        folder.post(database, kind, "--monthly", "statement", *journals)
        check_judges(folder, database, journals)
        cash = {account.split(":")[0]: amount for (account, _), amount in folder.balances(database).items()
                if account.endswith(":Assets:Cash")}  # fmt: skip
        check(cash == {client: Decimal(amount) for client, amount in wanted.items()}, f"{kind}: {cash}")
        folder.post(f"{database}-1", kind, "--monthly", "statement", "--workers", "1", *journals)
        prints = [books.fingerprint(folder.path / name, folder.path / f"{name}-out")
                  for name in (database, f"{database}-1")]  # fmt: skip
        books.check_same(*prints, kind)


def check_assertions(folder):
    """By payee and tag, an assertion is about the account that the journal names. By file it is about the
    file's own."""
    folder.write("x.journal", "2024-01-02 one\n  A  1 EUR = 1 EUR\n  B\n2024-01-03 two\n  A  2 EUR = 3 EUR\n  B\n")
    folder.write("y.journal", "2024-01-04 three\n  A  = 5 EUR\n  B\n")
    folder.write("z.journal", "2024-01-04 three\n  A  1 EUR = 1 EUR\n  B\n")
    folder.post("assert1", "payee", "x.journal", "y.journal")
    check(folder.balances("assert1")["three:A", "EUR"] == 2, "2 are missing to 5")
    folder.post("assert2", "file", "x.journal", "z.journal")
    check(folder.balances("assert2")["z:A", "EUR"] == 1, "the file's own account")
    message = folder.post("assert3", "payee", "x.journal", "z.journal", expect=2)
    check("z.journal:2: the balance of 'three:A' is asserted to be 1 EUR but is 4" in message, message)


def check_days(folder):
    """The next day's assertions count what all clients had the day before."""
    folder.write("mon.journal", "2024-01-02 one\n  A  1 EUR\n  B\n2024-01-02 two\n  A  2 EUR\n  B\n")
    folder.write("tue.journal", "2024-01-03 one\n  A  4 EUR = 7 EUR\n  B\n2024-01-03 new\n  A  = 8 EUR\n  B\n")
    for day, name in (("2024-01-02", "mon.journal"), ("2024-01-03", "tue.journal")):
        folder.run("day", "--date", day, "--db", "days", "--out", "days-out", "--client-by", "payee", name)
    ours = books.our_balances(folder.path / "days-out" / "2024-01-03" / "balances.csv")
    wanted = {"new": 1, "one": 5, "two": 2}
    found = {account.split(":")[0]: amount for (account, _), amount in ours.items() if account.endswith(":A")}
    check(found == wanted, f"{found}")


def check_rules(folder):
    """The kind of client is a rule, and so are the names of files that are clients."""
    folder.post("rules", "file", "anna.journal", "bob.journal")
    check("nothing to do" in folder.post("rules", "file", "anna.journal", "bob.journal"), "the same again")
    folder.post("rules", "payee", "anna.journal", "bob.journal", expect=4)
    folder.write("rules.yaml", "client-by: file\n")
    said = folder.run("run", "--db", "rules", "--out", "rules-out", "--rules", "rules.yaml", "anna.journal",
                      "bob.journal")  # fmt: skip
    check("nothing to do" in said, "the same from a rules file")
    message = folder.post("rules", "file", "--rules", "rules.yaml", "anna.journal", expect=2)
    check("rules.yaml:1: --client-by is given, too" in message, message)
    (folder.path / "bob.journal").rename(folder.path / "rob.journal")
    folder.post("rules", "file", "anna.journal", "rob.journal", expect=4)
    (folder.path / "rob.journal").rename(folder.path / "bob.journal")


def check_refusals(folder):
    folder.write("group.journal", "account A  ; group:east\n2024-01-02 x\n  A  1 EUR\n  B\n")
    folder.write("posting.journal", "2024-01-02 x\n  A  1 EUR  ; trip: Rome\n  B\n")
    folder.write("bad.journal", "2024-01-02 x;y\n  A  1 EUR\n  B\n2024-01-02 check this\n  A  1 EUR\n  B\n")
    folder.write("check this.journal", BOB)
    (folder.path / "sub").mkdir()
    folder.write("sub/anna.journal", BOB)
    for kind, names, words in (
        ("payee", ["group.journal"], "an account is not of one client, so it has no group"),
        ("tag:trip", ["posting.journal"], "says which client a transaction is of, not a posting"),
        ("payee", ["bad.journal"], "bad.journal:4: 'check this' cannot be the name of a client"),
        ("file", ["anna.journal", "sub/anna.journal"], "two files have the name 'anna'"),
        ("file", ["check this.journal"], "'check this' cannot be the name of a client"),
        ("file", [b"\xff.journal"], "cannot be the name of a client: no UTF-8 text"),
        ("file", ["-"], "standard input has no name"),
        ("client", ["anna.journal"], "--client-by takes depth, file, payee or tag:NAME, not client"),
        ("tag:", ["anna.journal"], "--client-by takes"),
        ("tag:a b", ["anna.journal"], "--client-by takes"),
    ):
        message = folder.post("refused", kind, *names, expect=2)
        check(words in message, f"{kind}: {message}")
    message = folder.post("refused", "file", "--client-depth", "2", "anna.journal", expect=2)
    check("are for --client-by depth only" in message, message)
    folder.post("file-group", "file", "group.journal")


def main():
    binary = books.program()
    books.skip_without("ledger", "hledger", "sqlite3")
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(binary, Path(path))
        folder.write("anna.journal", ANNA)
        folder.write("bob.journal", BOB)
        check_kinds(folder)
        check_assertions(folder)
        check_days(folder)
        check_rules(folder)
        check_refusals(folder)
    print("clients by file, payee and tag: all agree")


if __name__ == "__main__":
    main()
