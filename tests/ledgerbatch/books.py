"""What the ledgerbatch script tests share: running programs, reading balances."""
import csv
import hashlib
import os
import re
import shutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

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
    with open(path, newline="", encoding="utf-8") as source:
        rows = list(csv.reader(source))
    check(rows[0] == ["account", "commodity", "amount"], f"the header of {path}")
    keys = [(row[0].encode(), row[1].encode()) for row in rows[1:]]
    check(keys == sorted(keys), f"{path} is not sorted")
    return {(row[0], row[1]): Decimal(row[2]) for row in rows[1:]}


AMOUNT = re.compile(
    r'(?:(?P<before>"[^"]*"|[^\d\s"-]+)\s*(?P<after_symbol>-?[\d,.]+))'
    r'|(?:(?P<number>-?[\d,.]+)\s*(?P<symbol>"[^"]*"|[^\d\s"]+))'
)


def ledger_balances(journal):
    """account -> amount as `ledger bal` has it, without lots and prices."""
    result = run(
        "ledger", "--args-only", "-f", journal, "bal", "--flat", "--no-total",
        "--format", "%(account)\t%(strip(amount))\n%/",
    )  # fmt: skip
    balances = {}
    account = None
    for line in result.stdout.decode().splitlines():
        if "\t" in line:
            account, line = line.rsplit("\t", 1)
        amount = line.strip()
        if amount in ("", "0"):
            continue
        match = AMOUNT.fullmatch(amount)
        check(match, f"ledger's amount {amount!r} cannot be read")
        symbol = (match["before"] or match["symbol"]).strip('"')
        number = match["after_symbol"] or match["number"]
        balances[account.strip(), symbol] = Decimal(number.replace(",", ""))
    return balances


def hledger_balances(journal):
    result = run(
        "hledger", "-f", journal, "bal", "--flat", "-N", "--layout=bare", "-O", "csv",
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )  # fmt: skip
    balances = {}
    for account, symbol, number in list(csv.reader(result.stdout.decode().splitlines()))[1:]:
        value = Decimal(number.replace(",", ""))
        if value:
            balances[account, symbol] = value
    return balances


def differing(ours, theirs, name):
    """Accounts that differ by more than the other program's rounding for display."""
    wrong = []
    for key in sorted(ours.keys() | theirs.keys()):
        mine = ours.get(key, Decimal(0))
        other = theirs.get(key, Decimal(0))
        # A program that shows nothing, or fewer decimals, has rounded.
        decimals = max(mine.as_tuple().exponent, other.as_tuple().exponent) if other else None
        unit = Decimal(1).scaleb(decimals) if decimals is not None else Decimal("0.02")
        if abs(mine - other) > unit / 2:
            wrong.append(f"{name}: {key[0]} {key[1]}: {other}, ledgerbatch has {mine}")
    return wrong


def compare_with_both(journal, outputs, with_input=True):
    """Compares balances.csv with both programs on posted.journal, and on the input."""
    ours = our_balances(Path(outputs) / "balances.csv")
    posted = Path(outputs) / "posted.journal"
    wrong = differing(ours, ledger_balances(posted), "ledger, posted.journal")
    wrong += differing(ours, hledger_balances(posted), "hledger, posted.journal")
    if with_input:
        wrong += differing(ours, ledger_balances(journal), "ledger, the input")
        wrong += differing(ours, hledger_balances(journal), "hledger, the input")
    check(not wrong, "\n".join(wrong[:20]))
    return len(ours)
