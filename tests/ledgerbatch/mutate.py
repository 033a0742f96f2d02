#!/usr/bin/env python3
"""Spoilt journals, random ones and those of constructs.py: either a message with its place, or ledger and
hledger agree with the result.

usage: mutate.py LEDGERBATCH [--count N] [--seed S]
"""
import argparse
import random
import re
import sys
import tempfile
from pathlib import Path

import books
import constructs
import cross_check

PIECES = list(" \t;:=@,.-$\"(){}[]*!#0123456789ABCusd\n") + [
    "  ", " = ", " @ ", " @@ ", "USD", "EUR", '"a 1"', "1,000", "0.001", "comment", "end comment",
    "account ", "P ", "2024-01-01", "2024-1-2", "=1-2", "\nY2024\n", "\n1/2 x\n", "\nD $1,000.00\n",
    "\nalias C1 = X\n", "\napply account Z\n", "\nend apply account\n", " {5 USD} ", " {5 USD} @ 5 USD",
    " [2024-01-02]", "  ; [2024-01-02]", "  ; date:2024-01-02", ",50", ",5 ", "  10\n", "  = 0\n", "  [C1:x]  1",
    "payee ", "tag ", "note "]  # fmt: skip
PLACE = re.compile(r"^[^:\n]*spoilt\.journal:\d+: .", re.DOTALL)


def spoil(chance, text):
    """Inserts, removes or replaces something, up to three times."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(text))
        kind = chance.random()
        removed = chance.randint(1, 3) if kind < 0.4 else int(kind < 0.6)
        inserted = "" if kind < 0.4 else chance.choice(PIECES)
        text = text[:at] + inserted + text[at + removed :]
    return text


def readable():
    """The journals that are read, without those that include others."""
    texts = [path.read_text(encoding="utf-8") for path in constructs.journals()]
    return [text for text in texts if text.startswith("; read") and "\ninclude " not in text]


def check_one(binary, seed, folder):
    chance = random.Random(seed)
    if chance.random() < 0.5:
        text = spoil(chance, cross_check.Writer(seed).write(chance.randint(1, 4)))
    else:
        text = spoil(chance, chance.choice(readable()))
    journal = folder / "spoilt.journal"
    journal.write_text(text, encoding="utf-8", newline="")
    outputs = folder / "out"
    result = books.run(binary, "run", "--db", folder / "db", "--out", outputs, journal, expect=None)
    message = result.stderr.decode()
    if result.returncode == 0:
        try:
            books.compare_with_both(journal, outputs)
        except SystemExit as failure:
            sys.exit(f"seed {seed}: {failure}\n{text}")
        return True
    wrong = f"seed {seed}: exit {result.returncode}: {message}\n{text}"
    books.check(result.returncode == 2, wrong)
    books.check(PLACE.match(message) or "no transactions" in message, wrong)
    return False


def main():
    binary = books.program()
    books.skip_without("ledger", "hledger")
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    accepted = 0
    print(f"seeds from {options.seed}", flush=True)
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            accepted += check_one(binary, seed, Path(folder))
    print(f"{accepted} of {options.count} spoilt journals are still good, and all agree on them")


if __name__ == "__main__":
    main()
