#!/usr/bin/env python3
"""The head that a run prints names the contents of its database: verify finds every change of a
row, of a column and of the schema, an older copy, and sums that do not tie.

usage: verify.py LEDGERBATCH
"""
import re
import shutil
import sqlite3
from pathlib import Path

import books
import small_batch
import step_objects

JOURNAL = """\
P 2024-01-10 X 3.10 USD
P 2024-01-31 X 3.20 USD
account A:Cash  ; group:one
account B:Cash  ; group:one
account D:Cash  ; group:one
2024-01-02 (K-1) Opening
  A:Cash  100.00 USD
  B:Cash  50.00 USD
  D:Cash  9.00 USD
  Bank:Vault
2024-01-03 Refused
  A:Cash  -900.00 USD
  Bank:Vault
2024-01-20 ! Price
  A:Stock  2 X @ 3.00 USD
  A:Cash  -6.00 USD
2024-01-21 Transfer
  B:Cash  -7.00 USD
  C:Cash  7.00 USD
2024-01-22 Fails
  D:Cash  -1.00 USD
  D:Broken  1.00 USD
2024-01-23 Behind it
  D:Cash  -2.00 USD
  C:Cash  2.00 USD
2024-02-01 Next month
  A:Cash  -1.00 USD
  B:Cash  1.00 USD
"""
RULES = ["--commutative", "Bank:*", "--no-overdraft", "A:Cash", "--monthly"]  # and the steps
FAILS = ["--fail-on", "D:Broken"]
RUNS = {
    "finished": ([], 0),
    "deferred": (FAILS + ["--on-failure", "defer"], 6),
    "held": (FAILS + ["--on-quarantine", "exclude"], 3),
    "failed": (FAILS + ["--on-quarantine", "fail"], 3),
}


def head_of(output):
    found = re.findall(r"^head ([0-9a-f]{64})$", output.stdout.decode(), re.M)
    books.check(len(found) == 1, f"one head, not {found}:\n{output.stdout.decode()}")
    return found[0]


def run_all(binary, folder, name, workers):
    options, code = RUNS[name]
    database = folder / f"{name}-{workers}.db"
    head = head_of(books.run(binary, "run", "--workers", workers, "--db", database, "--out",
                             folder / "out", *RULES, *options, folder / "v.journal",
                             expect=code))  # fmt: skip
    verified = books.run(binary, "verify", "--db", database, "--head", head)
    books.check(head_of(verified) == head, f"{name}: the head of verify")
    return database, head


def run_days(binary, folder, workers):
    """Three days: something is deferred, carried over, and posted, but for the last one."""
    database = folder / f"days-{workers}.db"
    january, february = JOURNAL[: JOURNAL.index("2024-02-01")], JOURNAL[JOURNAL.index("2024-02-01") :]
    bad = "2024-01-30 Rejected\n  A:Cash  {}.00 USD\n  B:Cash\n  C:Cash\n"
    days = (("2024-01-31", january + bad.format(1) + bad.format(2) + "2024-01-31 One-sided\n  A:Cash  1.00 USD\n", [*FAILS, "--on-failure", "defer"]),
            ("2024-02-02", february + bad.format(3) + "2023-12-31 Late\n  A:Cash  1.00 USD\n  B:Cash  -1.00 USD\n"
                           "2024-01-31 Late, too\n  A:Cash  1.00 USD\n  B:Cash  -1.00 USD\n", ["--backdated", "2024-01=late"]),
            ("2024-02-29", "2024-02-10 Last\n  D:Cash  -3.00 USD\n  C:Cash\n"
                           "2024-02-11 Too much\n  A:Cash  -900.00 USD\n  Bank:Vault\n"
                           + bad.format(4) + "2024-03-01 Early\n  A:Cash  1.00 EUR\n  B:Cash  -1.00 EUR\n"
                           "2024-02-01 Late\n  A:Cash  1.00 USD\n  B:Cash  -1.00 USD\n",
                           ["--reverse", "4=not theirs", "--backdated", "2024-02=later"]))  # fmt: skip
    for date, text, options in days:
        journal = folder / f"{date}.journal"
        journal.write_text(text)
        done = books.run(binary, "day", "--date", date, "--workers", workers, "--db", database, "--out",
                         folder / "days", "--rejects", folder / f"{date}.rejects", *RULES, *options, journal,
                         expect=6)  # fmt: skip
    head = head_of(done)
    verified = books.run(binary, "verify", "--db", database, "--head", head)
    books.check(head_of(verified) == head, "days: the head of verify")
    return database, head


def copy_changed(database, copy, change):
    """Copies a database and changes the copy; how many rows the change has met, or -1 if it is about the schema."""
    shutil.copy(database, copy)
    connection = sqlite3.connect(copy)
    affected = connection.execute(change).rowcount
    connection.commit()
    connection.close()
    return affected


def check_days(binary, folder):
    """Rows of earlier days are found, too: without the head, those that the chain has."""
    database, head = run_days(binary, folder, 1)
    for workers in (2, 8):
        books.check(run_days(binary, folder, workers)[1] == head, f"days: another head with {workers} workers")
    made, filled = check_changes(binary, database, head)
    print(f"days: all of {made} changes were found")
    copy = folder / "chain.db"
    for change in ("UPDATE transactions SET text = 'x' WHERE seq = 1", "UPDATE refused SET reason = 'x' WHERE seq = 2",
                   "UPDATE rejected SET line = 9 WHERE batch = 1 AND n = 1",
                   "UPDATE rejected_totals SET transactions = 9 WHERE batch = 1",
                   "UPDATE reopened SET reason = 'x' WHERE batch = 2",
                   "UPDATE transactions SET value_date = date WHERE value_date < date AND seq < 15",
                   "UPDATE batches SET digest = 'x' WHERE batch = 1", "UPDATE batches SET chain = 'x' WHERE batch = 2"):  # fmt: skip
        copy_changed(database, copy, change)
        found = books.run(binary, "verify", "--db", copy, expect=4)
        books.check("have changed since it ended" in found.stderr.decode(), f"{change}: {found.stderr.decode()}")
    return filled


def check_outputs(binary, folder):
    """--out compares the files with what was written: of a run, and of the days after it."""
    database, outputs = folder / "outputs.db", folder / "outputs"
    words = ["--db", database, "--out", outputs, *RULES]
    books.run(binary, "run", *words, "--on-failure", "defer", *FAILS, folder / "v.journal", expect=6)
    april = folder / "april.journal"
    april.write_text("2024-04-01 Later\n  A:Cash  -1.00 USD\n  B:Cash  1.00 USD\n")
    books.run(binary, "day", "--date", "2024-04-30", *words, "--post-deferred", april)
    verified = books.run(binary, "verify", "--db", database, "--out", outputs).stdout.decode()
    count = sum(path.is_file() for path in outputs.rglob("*"))
    books.check(f"{outputs}: all {count} files are as they were written\n" in verified, verified)
    changed, removed, added = outputs / "balances.csv", outputs / "2024-04-30/totals.csv", outputs / "close/x.csv"
    whole = changed.read_bytes()
    for change, undo, message in (
        (lambda: changed.write_bytes(whole + b" "), lambda: changed.write_bytes(whole),
         f"{changed}: has changed since it was written"),
        (lambda: removed.rename(folder / "away"), lambda: (folder / "away").rename(removed), f"{removed}: is missing"),
        (lambda: added.write_bytes(whole), added.unlink, f"{added}: is no output of this database"),
    ):  # fmt: skip
        change()
        found = books.run(binary, "verify", "--db", database, "--out", outputs, expect=4).stderr.decode()
        books.check(found == f"ledgerbatch: {message}\n", found)
        undo()
    added.write_bytes(whole)
    changed.unlink()
    found = books.run(binary, "verify", "--db", database, "--out", outputs, expect=4).stderr.decode()
    books.check(found == f"ledgerbatch: {changed}: is missing; 2 files differ in all\n", found)
    books.run(binary, "verify", "--db", database, "--out", folder / "nowhere", expect=1)


def tables_of(connection):
    return [row[0] for row in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]


def changes_of(connection):
    """Yields SQL that changes, deletes, inserts or swaps something."""
    for table in tables_of(connection):
        columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
        rows = connection.execute(f"SELECT * FROM {table}").fetchall()
        keys = [column[1] for column in columns if column[5]]
        values = ", ".join("'77'" if column[2] == "TEXT" else "77" for column in columns)
        yield table, f"INSERT INTO {table} VALUES ({values})"
        if not rows:
            continue
        last = ", ".join(f"{key} DESC" for key in keys)
        for order in (last, ", ".join(keys)):
            where = f"({', '.join(keys)}) = (SELECT {', '.join(keys)} FROM {table} ORDER BY {order} LIMIT 1)"
            yield table, f"DELETE FROM {table} WHERE {where}"
            for _, name, kind, *_ in columns:
                more = f"ifnull({name}, '') || 'x'" if kind == "TEXT" else f"ifnull({name}, 0) + 1000"
                yield table, f"UPDATE {table} SET {name} = {more} WHERE {where}"
                if kind == "TEXT":
                    yield table, f"UPDATE {table} SET {name} = CAST({name} AS BLOB) WHERE {where} AND {name} <> ''"
        for at, name, *_ in columns:
            if name not in keys and len({row[at] for row in rows} - {None}) > 1:
                low, high = (f"(SELECT {name} FROM {table} WHERE {name} IS NOT NULL ORDER BY {name} {way} LIMIT 1)"
                             for way in ("", "DESC"))  # fmt: skip
                yield table, (f"UPDATE {table} SET {name} = CASE {name} WHEN {low} THEN {high}"
                              f" WHEN {high} THEN {low} ELSE {name} END")  # fmt: skip
    yield "schema", "CREATE TRIGGER t AFTER INSERT ON postings BEGIN DELETE FROM refused; END"
    yield "schema", "CREATE INDEX i ON postings(account)"


def check_changes(binary, database, head):
    connection = sqlite3.connect(database)
    changes = list(changes_of(connection))
    filled = {table for table in tables_of(connection)
              if connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]}  # fmt: skip
    connection.close()
    copy = database.with_suffix(".changed")
    made = 0
    for table, change in changes:
        if copy_changed(database, copy, change) == 0:
            continue
        made += 1
        found = books.run(binary, "verify", "--db", copy, "--head", head, expect=None)
        books.check(found.returncode in (1, 4) and found.stderr and not found.stdout,
                    f"{database.name}: verify ended with {found.returncode} after: {change}")  # fmt: skip
    return made, filled


def check_sums(binary, folder, database):
    """Without a head, too, verify finds what does not add up."""
    copy = folder / "sums.db"
    for change, message in (
            ("UPDATE postings SET amount = amount + 1 WHERE seq = 1 AND n = 1", "running balance"),
            ("UPDATE balances SET amount = amount + 1 WHERE account = 0", "add up to"),
            ("UPDATE input_totals SET debits = debits + 1", "do not tie")):  # fmt: skip
        copy_changed(database, copy, change)
        found = books.run(binary, "verify", "--db", copy, expect=1)
        books.check(message in found.stderr.decode(), f"{change}: {found.stderr.decode()}")


def check_vacuum(binary, folder, database, head):
    """The places of the rows in the file do not count."""
    copy = folder / "vacuum.db"
    shutil.copy(database, copy)
    connection = sqlite3.connect(copy)
    connection.execute("PRAGMA page_size = 4096")
    connection.execute("VACUUM")
    connection.close()
    books.run(binary, "verify", "--db", copy, "--head", head)


def check_older_copy(binary, folder, head):
    """Yesterday's database is whole, but has another head."""
    shorter = folder / "shorter.journal"
    shorter.write_text(JOURNAL[: JOURNAL.index("2024-02-01")])
    older = folder / "older.db"
    books.run(binary, "run", "--db", older, "--out", folder / "older", *RULES, shorter)
    books.run(binary, "verify", "--db", older)
    found = books.run(binary, "verify", "--db", older, "--head", head, expect=4)
    books.check("its head is" in found.stderr.decode(), found.stderr.decode())


def check_usage(binary, database, head):
    for words, message in ((["--head", "12"], "the 64 digits that a run printed, not 12"),
                           (["--head", head + "0"], "the 64 digits that a run printed"),
                           (["--head"], "--head"),
                           (["--at", "2024-01-01"], "unknown argument --at")):  # fmt: skip
        found = books.run(binary, "verify", "--db", database, *words, expect=2)
        books.check(message in found.stderr.decode(), f"{words}: {found.stderr.decode()}")


def main():
    binary = books.program()
    filled = set()
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        (folder / "v.journal").write_text(JOURNAL)
        has_compiler = shutil.which("cc") is not None
        RULES.append(f"statement,step={step_objects.build(folder, 'tithe')},close" if has_compiler else "statement,close")
        for name in RUNS:
            database, head = run_all(binary, folder, name, 1)
            for workers in (2, 8):
                _, other = run_all(binary, folder, name, workers)
                books.check(other == head, f"{name}: another head with {workers} workers")
            made, tables = check_changes(binary, database, head)
            filled |= tables
            print(f"{name}: all of {made} changes were found")
            if name == "finished":
                again = books.run(binary, "run", "--db", database, "--out", folder / "out", *RULES,
                                  folder / "v.journal")  # fmt: skip
                books.check(head_of(again) == head, "a second run prints the same head")
                check_sums(binary, folder, database)
                check_vacuum(binary, folder, database, head)
                check_older_copy(binary, folder, head)
                check_usage(binary, database, head)
                check_outputs(binary, folder)
        filled |= check_days(binary, folder)
        connection = sqlite3.connect(database)
        empty = set(tables_of(connection)) - filled - (set() if has_compiler else {"contributions", "reports", "steps"})
        connection.close()
        books.check(not empty, f"no run has rows in {sorted(empty)}")


if __name__ == "__main__":
    main()
