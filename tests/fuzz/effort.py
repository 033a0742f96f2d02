#!/usr/bin/env python3
"""Large journals of the kinds where looking things up one by one would take the square of their
size: the steps that they take stay within what their bytes allow, see steps.h.

usage: effort.py FUZZ_JOURNAL_REPLAY [--count N]
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ENTRY = "2024-01-02 x\n"
OTHER_SIDE = "  B\n"


def symbol(number):
    """A commodity for each number."""
    text = ""
    while number or not text:
        text = chr(ord("A") + number % 26) + text
        number //= 26
    return "Q" + text


def entry(postings):
    return ENTRY + "".join(f"  {posting}\n" for posting in postings) + OTHER_SIDE


def journals(count):
    """(name, text): each has so many of something."""
    numbers = range(count)
    yield "commodities of an account", "".join(entry([f"A  1 {symbol(n)}"]) for n in numbers)
    yield "commodities of a transaction", entry(f"A{n}  1 {symbol(n)}" for n in numbers)
    yield "assertions", (entry(f"A  1 {symbol(n)}" for n in numbers)
                         + entry(f"A  1 {symbol(n)} = 2 {symbol(n)}" for n in numbers))
    yield "assignments", entry(f"A{n % 2}  = {n} USD" for n in numbers)
    yield "assertions without a commodity", (
        entry(f"A{n}  1 {symbol(n)}" for n in numbers)
        + entry(f"B{n % 9}  1 = {n // 9 + 1}" for n in numbers))
    yield "aliases", "".join(f"alias a{n}=A:{n}\n" for n in numbers) + entry(
        f"a{n}:x  1 USD" for n in numbers)
    yield "applied accounts", "".join(f"apply account {n % 10}\n" for n in numbers)
    yield "square brackets", entry(f"[A{n}]  {n % 7 - 3} {symbol(n // 7)}" for n in numbers)
    yield "comments", ENTRY + "  A  1 USD  ; [x] " * 99 + "\n" + "  ; [=2024-01-02] a:b, [x]\n" * count
    yield "prices", entry(f"A  1 {symbol(n)} @ 1 {symbol(n + 1)}" for n in numbers)
    yield "accounts that close", ";! monthly\n" + entry(
        f"A:A:Expenses:{n}  {n + 1} USD" for n in numbers)
    yield "accounts that earn", ";! monthly\n" + entry(
        f"A:A:Savings:{n}  {n + 1} USD" for n in numbers)
    yield "declared accounts", (
        ";! monthly\n" + "".join(f"account A{n}:Income:Interest\n" for n in numbers)
        + entry(f"A{n}:Savings  {n + 1} USD" for n in numbers))
    yield "groups", ("".join(f"account A{n}:x  ; group:g{n}\n" for n in numbers)
                     + entry(f"A{n}:x  1 USD" for n in numbers))
    yield "overdrafts", ";! overdraft\n" + entry(f"A{n % 9}:Cash  {n % 7 - 4} USD" for n in numbers)
    yield "dates backwards", "".join(
        entry(["A  1 USD"]).replace("2024-01-02", f"{9999 - n // 28:04}-01-{28 - n % 28:02}")
        for n in numbers)
    yield "empty lines", "\n" * count * 10


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    replay = sys.argv.pop(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=15000)
    options = parser.parse_args()
    kinds = 0
    with tempfile.TemporaryDirectory() as path:
        for name, text in journals(options.count):
            file = Path(path) / f"{name}.journal"
            file.write_text(text, encoding="utf-8")
            result = subprocess.run([replay, file], capture_output=True, check=False)
            if result.returncode != 0:
                sys.exit(f"FAILED: {name}: {result.stderr.decode()}")
            kinds += 1
    print(f"{kinds} kinds of large journals take steps in proportion to their bytes")


if __name__ == "__main__":
    main()
