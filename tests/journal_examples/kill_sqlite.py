#!/usr/bin/env python3
"""SIGKILL at random moments of journal_sqlite: each transfer is in the file once.

usage: kill_sqlite.py JOURNAL_SQLITE [--count N] [--seed S] [--transfers N]
"""
import shutil
import sys

try:
    import sqlite3
except ImportError:
    print("skipped: this Python has no sqlite3")
    sys.exit(77)

import killing


class Database(killing.Store):
    def read(self):
        """Reads a copy, so that the example finds what the kill has left."""
        copies = self.folder / "copy"
        shutil.rmtree(copies, ignore_errors=True)
        copies.mkdir()
        for path in self.folder.glob(self.path.name + "*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, copies)
        database = sqlite3.connect(copies / self.path.name)
        tables = {name for name, in database.execute("SELECT name FROM sqlite_master")}
        if "posting" in tables:
            self.read_tables(database)
        else:
            killing.check(not self.postings, "the tables are lost")
        database.close()

    def read_tables(self, database):
        def rows(query):
            return database.execute(query).fetchall()
        self.postings = [killing.Posting(*row) for row in rows("SELECT * FROM posting ORDER BY number")]
        self.balances = [balance for balance, in rows("SELECT balance FROM account ORDER BY account")]
        ((next_id,),) = rows("SELECT next_id FROM progress")
        known = sum(posting.id < next_id for posting in self.postings)
        killing.check(known == next_id - 1, f"{known} transfers below {next_id}")
        killing.check(rows("PRAGMA quick_check") == [("ok",)], "the database is damaged")


if __name__ == "__main__":
    killing.main(Database)
