"""A small batch with everything in it, which can be struck by a failing disk at any operation."""
import calendar
import os
import shutil
import subprocess
import tempfile
from collections import namedtuple
from pathlib import Path

import books

RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Cash", "--monthly",
         "statement,accrual=0.12,close"]  # fmt: skip
SECONDS_MAX = 60  # a run takes some hundredths of one: this only guards against waiting for ever

Operation = namedtuple("Operation", "number what path")


def month_of(number):
    return 2020 + number // 12, number % 12 + 1


def journal(first, last):
    """Postings, transfers, one refusal a month; two groups of two clients."""
    lines = [f"account C{n}:Cash  ; group:{'east' if n < 3 else 'west'}" for n in range(1, 5)]
    for month in range(first, last + 1):
        date = "{}-{:02}".format(*month_of(month))
        for n in range(1, 5):
            lines += [f"{date}-0{n} Wages", f"  C{n}:Cash  {100 + month}.{n}0 USD",
                      f"  C{n}:Savings  {n}.25 USD", f"  C{n}:Income:Wages", ""]  # fmt: skip
        lines += [f"{date}-10 * (t) Transfer", "  C1:Cash  -20.00 USD", "  C4:Cash", "",
                  f"{date}-11 Too much", "  C2:Cash  -1000000 USD", "  C3:Cash", "",
                  f"{date}-12 Fees", "  C3:Expenses:Fees  1.50 USD", "  Bank:Vault", ""]  # fmt: skip
    return "\n".join(lines) + "\n"


def temporary_folder():
    """In memory where that is possible: syncfs() would wait for all that others write to a disk."""
    memory = "/dev/shm"
    return tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)


class SmallBatch:
    def __init__(self, binary, faulty_files, path, months):
        self.binary, self.faulty_files = binary, faulty_files
        self.folder = Path(path).resolve()
        self.work, self.report = self.folder / "work", self.folder / "report"
        self.database, self.outputs = self.work / "db", self.work / "out"
        self.journal = self.folder / "small.journal"
        self.journal.write_text(journal(1, months), encoding="utf-8")
        self.months = months

    def next_day(self):
        """From here on, commands take the journal of the next month; returns its last day."""
        self.journal = self.folder / "next.journal"
        self.journal.write_text(journal(self.months + 1, self.months + 1), encoding="utf-8")
        year, month = month_of(self.months + 1)
        return f"{year}-{month:02}-{calendar.monthrange(year, month)[1]}"

    def clear(self):
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir()

    def restore(self, saved):
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(saved, self.work)

    def run(self, words=("run",), **faults):
        """One command under the library of faults; the waits in tasks make it several commits."""
        self.report.unlink(missing_ok=True)
        environment = {"LD_PRELOAD": self.faulty_files, "FAULTY_UNDER": self.work,
                       "FAULTY_REPORT": self.report, "ASAN_OPTIONS": "verify_asan_link_order=0",
                       **{f"FAULTY_{name.upper()}": value for name, value in faults.items()}}
        command = [self.binary, *words, "--workers", "1", "--commit-size", "6", "--task-wait-us",
                   "100", "--db", self.database, "--out", self.outputs, *RULES, self.journal]
        command += [] if words[0] == "day" else ["--end-month"]
        return subprocess.run(command, capture_output=True, timeout=SECONDS_MAX,
                              env={**os.environ, **{k: str(v) for k, v in environment.items()}})

    def operations(self):
        """What the last run did to its files; the last of them may be the one that failed."""
        rows = (line.split(" ", 1) for line in self.report.read_text().splitlines())
        return [Operation(int(number), *rest.rsplit(" ", 1)) for number, rest in rows]

    def result(self):
        return books.fingerprint(self.database, self.outputs)

    def finish(self, wanted, what, words=("run",), code=0):
        """A later run that nothing disturbs: it must end like the one that nothing disturbed."""
        result = self.run(words)
        books.check(result.returncode == code, f"{what}; resumed: exit {result.returncode}, "
                                            f"{result.stderr.decode()}")  # fmt: skip
        books.check_same(self.result(), wanted, f"{what}; resumed")

    def undisturbed(self):
        self.clear()
        result = self.run()
        books.check(result.returncode == 0, result.stderr.decode())
        return self.result(), self.operations()

    def save_killed(self, operations, saved):
        """Kills a batch before it writes outputs, with all its work in the write-ahead log."""
        last = max(o.number for o in operations if o.what == "sync" and o.path == "db-wal"
                   and o.number < next(o.number for o in operations if o.what == "make folder"))
        for number in range(last, 0, -1):
            self.clear()
            if self.run(at=number, kind="kill").returncode == -9:
                break
        shutil.copytree(self.work, saved)


def tally(count):
    """Counts fault points for the summary of all tests."""
    path = os.environ.get("LANEPOOL_TALLY")
    if path:
        with open(path, "a", encoding="ascii") as file:
            file.write(f"{count} fault points\n")
