#!/usr/bin/env python3
"""When the disk is full the program says so, exits 1, and the database can be resumed.

A limit on the size of files stands for the full disk: it needs no rights.

usage: disk_full.py LEDGERBATCH
"""
import resource
import signal
import tempfile
from pathlib import Path

import books
import determinism


def limited(size):
    def set_limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    return set_limit


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        journal, rules = determinism.smallbank(binary, folder, 8000, 1)

        def command(name):
            return [binary, "run", "--commit-size", 50, "--db", folder / f"{name}.db", "--out",
                    folder / name, *rules, journal]  # fmt: skip

        books.run(*command("whole"))
        wanted = books.fingerprint(folder / "whole.db", folder / "whole")
        whole = (folder / "whole.db").stat().st_size
        failures = 0
        for name, size in (("a", 20000), ("b", whole // 4), ("c", whole // 2), ("d", whole)):
            result = books.run(*command(name), expect=None, preexec_fn=limited(size))
            books.check(result.returncode in (0, 1), f"exit {result.returncode} at {size} bytes")
            books.check(result.returncode == 0 or result.stderr.startswith(b"ledgerbatch: "),
                        "a message")  # fmt: skip
            failures += result.returncode
            books.run(*command(name))
            books.check_same(books.fingerprint(folder / f"{name}.db", folder / name), wanted,
                             f"after a limit of {size} bytes")  # fmt: skip
        books.check(failures >= 3, f"the limits were felt {failures} times only")
    print(f"disk_full: {failures} batches stopped with a message and were resumed")


if __name__ == "__main__":
    main()
