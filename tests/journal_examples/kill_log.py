#!/usr/bin/env python3
"""SIGKILL at random moments of journal_log, and cut logs: each transfer is in the log once.

usage: kill_log.py JOURNAL_LOG [--count N] [--seed S] [--transfers N]
"""
import os

import killing


class Log(killing.Store):
    def read(self):
        """Takes the whole lines. A kill may have left part of another one."""
        lines = self.path.read_bytes().split(b"\n")[:-1] if self.path.exists() else []
        rows = [tuple(map(int, line.split())) for line in lines]
        killing.check(all(len(row) == 8 for row in rows), "a line with too few words")
        self.postings = [killing.Posting(*row[:6]) for row in rows]
        self.after = [row[6:] for row in rows]

    def harm(self):
        """Sometimes cuts the log off behind what was acknowledged."""
        if self.chance.random() >= 0.3 or not self.path.exists():
            return False
        needed = max((p.number for p in self.postings if p.id in self.answered), default=0)
        lines = self.path.read_bytes().splitlines(keepends=True)
        size = self.chance.randint(sum(map(len, lines[:needed])), sum(map(len, lines)))
        os.truncate(self.path, size)
        self.postings = self.postings[:needed]
        return True


if __name__ == "__main__":
    killing.main(Log)
