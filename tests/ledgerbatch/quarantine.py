#!/usr/bin/env python3
"""Clients that are held after a failure: what waits for them, what is said of it.

usage: quarantine.py LEDGERBATCH
"""
import tempfile
from pathlib import Path

import books
from books import check

RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Cash", "--end-month", "--monthly",
         "statement,accrual=0.12,close"]  # fmt: skip


def journal():
    """Two months of five clients: A, B and C in the group east, D and E in west."""
    lines = [f"account {c}:Cash  ; group:{'east' if c in 'ABC' else 'west'}" for c in "ABCDE"]
    for month in ("01", "02"):
        for day, client in enumerate("ABCDE", 1):
            lines += [f"2024-{month}-0{day} Wages", f"  {client}:Cash  {day}00.00 USD",
                      f"  {client}:Savings  {day}0.00 USD", f"  {client}:Income:Wages", ""]  # fmt: skip
        lines += [f"2024-{month}-10 * (t) Transfer", "  B:Cash  -20.00 USD", "  D:Cash", "",
                  f"2024-{month}-11 Too much", "  D:Cash  -9000 USD", "  E:Cash", "",
                  f"2024-{month}-12 Fees", "  C:Expenses:Fees  1.50 USD", "  Bank:Vault", ""]  # fmt: skip
    return "\n".join(lines) + "\n"


class Books:
    """A journal and what ledgerbatch makes of it, in a folder of its own."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, Path(folder)
        self.database, self.outputs = self.folder / "db", self.folder / "out"
        self.journal = self.folder / "books.journal"
        self.journal.write_text(journal(), encoding="utf-8")

    def command(self, name, *options, expect=0, workers=2, rules=RULES, policy="hold"):
        return books.run(self.binary, name, "--workers", workers, "--db", self.database, "--out",
                         self.outputs, "--on-quarantine", policy, *rules, *options, self.journal,
                         expect=expect)  # fmt: skip

    def run(self, *options, **more):
        return self.command("run", *options, **more)

    def retry(self, *options, **more):
        return self.command("retry", *options, **more)

    def status(self):
        return books.run(self.binary, "status", "--db", self.database).stdout.decode()

    def dump(self):
        return books.run("sqlite3", self.database, ".dump").stdout

    def fingerprint(self):
        return books.fingerprint(self.database, self.outputs)

    def clear(self):
        books.run("rm", "-rf", self.outputs, *self.folder.glob("db*"))

    def undisturbed(self):
        self.clear()
        self.run(workers=1)
        wanted = self.fingerprint()
        self.clear()
        return wanted


def check_many_held(book):
    """More tasks are held than the pool takes at a time."""
    rules = ["--commutative", "Bank:*", "--end-month", "--monthly", "statement,close"]
    lines = [f"2024-01-01 {n}\n  A:Cash  1.00 USD\n  Bank:Vault\n" for n in range(40000)]
    book.journal.write_text("\n".join(lines), encoding="utf-8")
    message = book.run("--fail-on", "A:*", expect=3, rules=rules).stderr.decode()
    check("40002 of 40002 tasks are held, in the lanes of 1 client, because 1 failed" in message, message)
    book.retry("--lane", "A", rules=rules)
    check("state: finished" in book.status(), book.status())


def check_fail_on(book):
    """A run that fails on purpose, and a later one without: as if it had never failed."""
    wanted = book.undisturbed()
    message = book.run("--fail-on", "B:Sav*", "--fail-on", "B:Savings", expect=3).stderr.decode()
    check("because 1 failed" in message, message)
    check(not (book.outputs / "balances.csv").exists(), "held work leaves no outputs")
    check("B:Savings is one of --fail-on" in book.status(), book.status())
    held = book.dump()
    for workers in (1, 3, 8):
        book.run("--fail-on", "B:Sav*", expect=3, workers=workers)
        check(book.dump() == held, "failing again changes nothing, with any number of workers")
    book.run()
    books.check_same(book.fingerprint(), wanted, "after the run without --fail-on")


def check_status(book):
    """Each held client and task is listed, with what holds it and what to do."""
    book.clear()
    book.run("--fail-on", "B:Sav*", expect=3)
    for line in (
        "tasks: 5 of 28 done",
        "held: A from task 9 on: waits: task 2 failed: B:Savings is one of --fail-on",
        "held: B from task 2 on: task 2 failed: B:Savings is one of --fail-on",
        "held: D from task 6 on: waits: task 2 failed: B:Savings is one of --fail-on",
        "held task 2: 2024-01-02 Wages: failed",
        "held task 6: 2024-01-10 * (t) Transfer: waits for B",
        "held task 7: 2024-01-11 Too much: waits for D",
        "held task 9: 2024-01-31 * (statement 2024-01 east) Statement: waits for B",
        "held task 16: 2024-02-02 Wages: waits for B",
        "held in all: 23 tasks, of which 1 failed, in the lanes of 5 clients",
        f"to try again: ledgerbatch retry --lane B --db {book.database}, with the files and options of the run, except --fail-on",
    ):  # fmt: skip
        check(line in book.status().splitlines(), f"'{line}' is not in:\n{book.status()}")


def check_retry(book):
    """One client after the other; those that are not named stay held."""
    wanted = book.undisturbed()
    book.run("--fail-on", "B:Sav*", "--fail-on", "E:Sav*", expect=3)
    book.retry("--lane", "B", expect=3)
    status = book.status()
    check("held: E from task 5 on: task 5 failed" in status, status)
    check("held: D from task 7 on: waits: task 5 failed" in status, status)
    check("held: B from task 20 on: waits: task 5 failed" in status, f"a transfer with D:\n{status}")
    check("retry --lane E --db" in status, status)
    before = book.dump()
    book.retry("--lane", "E", "--fail-on", "E:Sav*", expect=3)
    check(book.dump() == before, "failing again changes nothing")
    book.retry("--lane", "E", workers=3)
    books.check_same(book.fingerprint(), wanted, "after the last retry")


def check_retry_all(book):
    wanted = book.undisturbed()
    book.run("--fail-on", "?:Sav*", expect=3)
    check("retry --lane A --lane B --lane C --lane D --lane E" in book.status(), book.status())
    book.retry("--all")
    books.check_same(book.fingerprint(), wanted, "after retry --all")


def check_shared_failure(book):
    """A task over two clients that has failed is tried again when both are resumed."""
    book.journal.write_text(journal().replace("B:Cash  -20.00", "B:Till  -20.00"), encoding="utf-8")
    wanted = book.undisturbed()
    book.run("--fail-on", "B:Till", expect=3)
    check("retry --lane B --lane D" in book.status(), book.status())
    before = book.dump()
    book.retry("--lane", "B", expect=3)
    check(book.dump() == before, "one of two is not enough")
    book.retry("--lane", "D", "--lane", "B")
    books.check_same(book.fingerprint(), wanted, "after both were resumed")


def check_house(book):
    """Transactions over house accounts only have a lane without a client."""
    book.journal.write_text(journal() + "2024-01-20 House\n  Bank:Vault  1 USD\n  Bank:Safe\n")
    wanted = book.undisturbed()
    book.run("--fail-on", "Bank:Safe", expect=3)
    check("retry --lane '(house)' --db" in book.status(), book.status())
    book.retry("--lane", "(house)")
    books.check_same(book.fingerprint(), wanted, "after the house was resumed")


def check_incomplete(book):
    """The rollups of east went without B and C, and say so; those of west have nobody left, and wait."""
    for line in ("incomplete task 9: 2024-01-31 * (statement 2024-01 east) Statement: without B, C",
                 "incomplete task 25: 2024-02-29 * (close 2024-02 east) Month-end close: without B, C",
                 "held in all: 17 tasks, of which 2 failed, in the lanes of 4 clients; incomplete: 6 rollups"):
        check(line in book.status().splitlines(), f"'{line}' is not in:\n{book.status()}")
    statements = (book.outputs / "statements/2024-01-east.csv").read_text()
    check("\nB,missing,,,,,,,\n" in statements and "\nB,posting," not in statements, "no statement")
    check("\nA,posting,1," in statements and "\nA,missing" not in statements, "a statement")
    closing = (book.outputs / "close/2024-01-east.csv").read_text()
    check("A,A:Income:Wages,USD,-110.00\n" in closing and "B,(missing),,\nC,(missing),,\n" in closing, closing)
    posted = (book.outputs / "posted.journal").read_text()
    check(posted.startswith("; incomplete: some clients are held\n"), posted)
    check("; missing: B\n; missing: C\n2024-01-31 * (accrual 2024-01 east)" in posted, posted)
    check(not (book.outputs / "balances.csv").exists(), "no balances: they could not say it")


def check_default(book):
    """Without the option, the clients of a rollup do not wait for one another."""
    wanted = book.undisturbed()
    for workers in (1, 2, 8):
        book.clear()
        book.run(workers=workers, policy="exclude")
        books.check_same(book.fingerprint(), wanted, "as with rollups that block their clients")
    book.clear()
    failing = ("--fail-on", "B:Sav*")
    book.run(*failing, expect=3, policy="exclude")
    wanted = book.dump()
    book.clear()
    books.run(book.binary, "run", "--db", book.database, "--out", book.outputs, *RULES, *failing,
              book.journal, expect=3)  # fmt: skip
    check(book.dump() == wanted, "exclude is the default")
    check("held: A" not in book.status() and "held: C" not in book.status(), "A and C go on")


def check_many_missing(book):
    """Of many clients that a rollup lacks, the first are named."""
    rules = ["--commutative", "Bank:*", "--end-month", "--monthly", "statement"]
    lines = [f"2024-01-01 x\n  C{n:02}:Cash  1.00 USD\n  Bank:Vault\n" for n in range(12)]
    book.journal.write_text("\n".join(lines), encoding="utf-8")
    failing = [word for n in range(10) for word in ("--fail-on", f"C{n:02}:Cash")]
    book.run(*failing, expect=3, rules=rules, policy="exclude")
    names = ", ".join(f"C{n:02}" for n in range(8))
    line = f"incomplete task 13: 2024-01-31 * (statement 2024-01 all) Statement: without {names} and 2 others"
    check(line in book.status().splitlines(), f"'{line}' is not in:\n{book.status()}")
    book.retry("--all", rules=rules)


def check_failed_visits(book):
    """A rollup that fails for one client is done for the others."""
    rules = ["--commutative", "Bank:*", "--end-month", "--monthly", "accrual=120.0"]
    book.journal.write_text("2024-01-01 x\n  A:Savings  1.00 USD\n  Bank:Vault\n\n"
                            "2024-01-02 y\n  B:Savings  9000000000000000.00 USD\n  Bank:Vault\n\n"
                            "2024-02-01 z\n  A:Savings  1.00 USD\n  Bank:Vault\n", encoding="utf-8")
    for workers in (1, 2, 5):
        book.clear()
        book.run(expect=3, rules=rules, workers=workers, policy="exclude")
        for line in ("held: B from task 3 on: task 3 failed: the interest of B:Savings has too many digits",
                     "incomplete task 3: 2024-01-31 * (accrual 2024-01 all) Interest: without B",
                     "incomplete task 5: 2024-02-29 * (accrual 2024-02 all) Interest: without B"):
            check(line in book.status().splitlines(), f"'{line}' is not in:\n{book.status()}")
        posted = (book.outputs / "posted.journal").read_text()
        check("10.00 USD = 11.00 USD" in posted, f"A's interest of January:\n{posted}")


def check_exclude(book):
    """Rollups go on without the held client, and are made up for it, in as many steps as it takes."""
    wanted = book.undisturbed()
    book.run("--fail-on", "B:Sav*", "--fail-on", "C:Exp*", expect=3, policy="exclude")
    held = book.dump()
    for workers in (1, 3, 8):
        book.run("--fail-on", "B:Sav*", "--fail-on", "C:Exp*", expect=3, workers=workers,
                 policy="exclude")
        check(book.dump() == held, "the same with any number of workers, and again")
    check_incomplete(book)
    book.retry("--lane", "C", expect=3, policy="exclude")
    book.retry("--lane", "B", workers=3)
    books.check_same(book.fingerprint(), wanted, "after rollups were made up for two clients")
    book.clear()
    book.run("--fail-on", "[AE]:*", expect=3, policy="exclude")
    book.retry("--lane", "E", "--fail-on", "D:Cash", expect=3)
    book.retry("--all")
    books.check_same(book.fingerprint(), wanted, "after other failures in a retry")


def files_of_west(fingerprint):
    return {name: print for name, print in fingerprint.items() if "west" in name}


def check_fail(book):
    """Rollups of a held client fail, the others go on; later they are done at the end, for all."""
    undisturbed = book.undisturbed()
    failing = ("--fail-on", "B:Sav*", "--fail-on", "C:Exp*")
    message = book.run(*failing, expect=3, workers=1, policy="fail").stderr.decode()
    check("17 of 28 tasks are held" in message, message)
    for line in ("failed task 10: accrual 2024-01 east: held: B, C; it is done at the end, as task 38",
                 "held task 12: 2024-01-31 * (statement 2024-01 west) Statement: waits for D, E"):
        check(line in book.status().splitlines(), f"'{line}' is not in:\n{book.status()}")
    check("held: A" not in book.status(), "A goes on")
    held = book.dump()
    book.retry("--all")
    late = book.fingerprint()
    books.check_same(files_of_west(late), files_of_west(undisturbed), "west, which nobody has failed")
    # Twice in a row at the end: 20.00 x 0.01, then 20.20 x 0.01. In its place: 10.00 and 20.10.
    check("A:Savings,USD,20.40\n" in (book.outputs / "balances.csv").read_text(), "late interest")
    posted = (book.outputs / "posted.journal").read_text()
    check(posted.count("2024-02-29 * (accrual 2024-01 east) Interest") == 1, "its day is the end's")
    check(posted.index("(accrual 2024-01 east)") > posted.index("(close 2024-02 west)"), "and its place")
    for what, _, wrong in books.compare.compare_readings(book.outputs, []):
        check(not wrong, f"{what}: {wrong}")
    for workers, steps in ((3, [("--all",)]), (8, [("--lane", "C"), ("--lane", "B")])):
        book.clear()
        book.run(*failing, expect=3, workers=workers, policy="fail")
        check(book.dump() == held, f"the same with {workers} workers")
        for step in steps:
            book.retry(*step, expect=0 if step == steps[-1] else 3, workers=workers)
        books.check_same(book.fingerprint(), late, f"done late with {workers} workers in {steps}")


def check_retry_errors(book):
    """Each wrong retry says what is wrong and changes nothing."""
    book.clear()
    message = book.retry("--all", expect=1).stderr.decode()
    check("No such file" in message and not book.database.exists(), "a retry makes no database")
    book.run("--fail-on", "B:Sav*", expect=3)
    before = book.dump()
    for options, words in (
        ((), "retry needs either --all, or --lane"),
        (("--all", "--lane", "B"), "retry needs either --all, or --lane"),
        (("--lane", "X"), "there is no client 'X'"),
        (("--lane", "(hous)"), "there is no client '(hous)'"),
        (("--all", "--fail-on", "B:Sving*"), "no account matches --fail-on 'B:Sving*'; the nearest is 'B:Savings'"),
        (("--lane", "B", "--lane", "(house)"), "the client '(house)' is not held"),
        (("--lane", "D"), "the client 'D' only waits, because task 2 failed"),
    ):  # fmt: skip
        message = book.retry(*options, expect=2).stderr.decode()
        check(words in message, f"{options}: {message}")
    message = book.retry("--lane", "B", "--no-overdraft", "E:*", expect=4).stderr.decode()
    check("other input or rules" in message, message)
    check(book.dump() == before, "nothing has changed")
    book.retry("--lane", "B")
    message = book.retry("--lane", "B", expect=2).stderr.decode()
    check("nothing is held: the database is finished" in message, message)
    books.run(book.binary, "run", "--lane", "B", book.journal, expect=2)


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    for test in (check_fail_on, check_status, check_retry, check_retry_all, check_shared_failure,
                 check_house, check_default, check_many_missing, check_failed_visits, check_exclude, check_fail, check_many_held, check_retry_errors):
        with tempfile.TemporaryDirectory() as path:
            test(Books(binary, path))
    print("quarantine: all as it should be")


if __name__ == "__main__":
    main()
