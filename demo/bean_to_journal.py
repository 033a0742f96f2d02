#!/usr/bin/env python3
"""Turns beancount ledgers into one journal of the portable subset.

usage: bean_to_journal.py [--group NAME]... CLIENT=FILE...

The accounts of each ledger get the name of its client in front (C001:Assets:...). The
transactions of all ledgers are merged by date. Lots are dropped: a posting held at cost is
priced at that cost. With --group, the clients join the groups in turn.
"""
import re
import sys
from decimal import Decimal

TRANSACTION = re.compile(r'^(\d{4}-\d\d-\d\d) ([*!]) "((?:[^"\\]|\\.)*)"(?: "((?:[^"\\]|\\.)*)")?')
POSTING = re.compile(
    r"^\s+([A-Z][A-Za-z0-9:-]*)"  # the account
    r"(?:\s+(-?[\d,]*\.?\d+)\s+([A-Z][A-Z0-9'._-]*)"  # number and commodity
    r"(?:\s+\{([\d.,]+)\s+([A-Z]+)[^}]*\})?"  # its cost
    r"(?:\s+@\s+([\d.,]+)\s+([A-Z]+))?)?\s*(?:;.*)?$"  # its price
)


def without_separators(number):
    """Returns a number without group separators; its decimals are unchanged."""
    return format(Decimal(number.replace(",", "")), "f")


def convert_posting(client, match, where):
    account, number, commodity, cost, cost_in, price, price_in = match.groups()
    name = f"{client}:{account}"
    if number is None:
        return f"    {name}"
    if not commodity.isalpha():
        sys.exit(f"{where}: commodity {commodity} would need quotes")
    line = f"    {name:<52}  {without_separators(number)} {commodity}"
    if cost is not None:
        line += f" @ {without_separators(cost)} {cost_in}"
    elif price is not None:
        line += f" @ {without_separators(price)} {price_in}"
    return line


def read_transactions(client, path):
    """Yields (date, lines) for each transaction of one beancount file."""
    date, lines = None, []
    with open(path, encoding="utf-8") as source:
        for line_number, line in enumerate(source, 1):
            header = TRANSACTION.match(line)
            posting = POSTING.match(line) if date else None
            if posting and line.strip():
                lines.append(convert_posting(client, posting, f"{path}:{line_number}"))
                continue
            if date:
                if line.strip() and line[0].isspace():
                    sys.exit(f"{path}:{line_number}: cannot convert: {line.strip()}")
                yield date, lines
                date, lines = None, []
            if header:
                date, flag, payee, text = header.groups()
                text = f"{payee}, {text}" if text else payee
                lines = [f"{date} {flag} {text.replace(';', ',')}"]
    if date:
        yield date, lines


def main(arguments):
    groups = []
    while len(arguments) >= 2 and arguments[0] == "--group":
        groups.append(arguments[1])
        arguments = arguments[2:]
    if not arguments or any("=" not in argument for argument in arguments):
        sys.exit(__doc__.strip())
    transactions = []
    for index, argument in enumerate(arguments):
        client, path = argument.split("=", 1)
        if groups:
            print(f"account {client}:Assets  ; group:{groups[index % len(groups)]}")
        transactions.extend(read_transactions(client, path))
    transactions.sort(key=lambda transaction: transaction[0])
    for _, lines in transactions:
        print("", *lines, sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
