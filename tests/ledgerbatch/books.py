"""What the ledgerbatch script tests share: running programs, reading balances."""
import csv
import hashlib
import os
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "demo"))
import compare

SKIPPED = 77  # the exit code that CTest reads as "skipped"


def program():
    """The ledgerbatch binary: its path is the first argument of every test."""
    if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
        sys.exit(f"usage: {sys.argv[0]} LEDGERBATCH [ARGUMENT]...")
    return os.path.abspath(sys.argv.pop(1))


def skip_without(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            print(f"skipped: {tool} is not installed")
            sys.exit(SKIPPED)


def run(*command, expect=0, **options):
    """Runs a command; any other exit code than the expected one fails the test."""
    result = subprocess.run([str(word) for word in command], capture_output=True, **options)
    if expect is not None and result.returncode != expect:
        sys.exit(
            f"FAILED: exit {result.returncode}, expected {expect}: {' '.join(map(str, command))}\n"
            f"{result.stdout.decode()[-2000:]}{result.stderr.decode()[-2000:]}"
        )
    return result


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


def fingerprint(database, outputs):
    """One digest for the database's contents and one for each output file."""
    dump = run("sqlite3", database, ".dump").stdout
    prints = {".dump": hashlib.sha256(dump).hexdigest()}
    for path in sorted(Path(outputs).rglob("*")):
        if path.is_file():
            prints[str(path.relative_to(outputs))] = hashlib.sha256(path.read_bytes()).hexdigest()
    return prints


def check_same(found, wanted, what):
    for name in sorted(found.keys() | wanted.keys()):
        check(found.get(name) == wanted.get(name), f"{what}: {name} differs")


def our_balances(path):
    """balances.csv, which must be sorted, exact and without zeros."""
    with open(path, newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))
    check(rows[0] == ["account", "commodity", "amount"], f"the header of {path}")
    keys = [tuple(compare.text_of(cell).encode() for cell in row[:2]) for row in rows[1:]]
    check(keys == sorted(set(keys)), f"{path} is not sorted")
    balances = {tuple(map(compare.text_of, row[:2])): Decimal(row[2]) for row in rows[1:]}
    check(all(balances.values()), f"{path} has a zero balance")
    return balances


def compare_with_both(journal, outputs):
    """Compares balances.csv with both programs on posted.journal, and on the input, unless that is None."""
    try:
        for what, _, wrong in compare.compare_readings(outputs, [journal] if journal else []):
            check(not wrong, what + ": " + "; ".join(wrong[:20]))
    except compare.Refused as refusal:
        check(False, refusal)
    return len(our_balances(Path(outputs) / "balances.csv"))
