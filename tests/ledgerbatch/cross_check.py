#!/usr/bin/env python3
"""ledger and hledger must accept and agree: random journals of the portable subset.

usage: cross_check.py LEDGERBATCH [--count N] [--seed S]
"""
import argparse
import random
import tempfile
from decimal import ROUND_HALF_EVEN, Decimal
from pathlib import Path

import books

COMMODITIES = [("USD", 2, "after"), ("EUR", 2, "after"), ("$", 2, "before"), ("BTC", 4, "after"),
               ('"ACME 1"', 0, "after"), ("YEN", 0, "after"), ("", 2, "none")]  # fmt: skip
NAMED = COMMODITIES[:-1]
NAMES = ["Assets:Bank", "Assets:Cash at hand", "Income:Salary", "Expenses:Food", "Expenses:Büro",
         "Liabilities:Card", "Equity:Opening", "Assets:Savings"]  # fmt: skip


class Writer:
    """Writes one journal and keeps exact balances, so that assertions can be true."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.balances = {}
        self.lines = ["; random journal", "", "account C1:Assets:Bank  ; group:east"]
        self.clients = [f"C{n}" for n in range(1, self.random.randint(2, 6))]
        self.day = 0

    def account(self):
        return f"{self.random.choice(self.clients)}:{self.random.choice(NAMES)}"

    def number(self, value, decimals):
        text = f"{abs(value):.{decimals}f}"
        if decimals and self.random.random() < 0.3:
            text = f"{abs(value):,.{decimals}f}"
        return text

    def amount(self, value, commodity):
        symbol, decimals, place = commodity
        number = self.number(value, max(decimals, -value.as_tuple().exponent))
        sign = "-" if value < 0 else ""
        if place == "none":
            return sign + number
        if place == "before":
            return self.random.choice([f"{sign}{symbol}{number}", f"{symbol}{sign}{number}"])
        return f"{sign}{number} {symbol}"

    def value(self, commodity):
        cents = self.random.randint(-500000, 500000) or 1
        return Decimal(cents).scaleb(-commodity[1])

    def book(self, account, commodity, value):
        key = account, commodity[0]
        self.balances[key] = self.balances.get(key, Decimal(0)) + value

    def posting(self, account, commodity, value, price="", check=True):
        self.book(account, commodity, value)
        line = f"{account}  {self.amount(value, commodity)}{price}"
        balance = self.balances[account, commodity[0]]
        # One program reads an asserted zero as "nothing at all is left".
        # ledger takes a balance without a commodity for that of all commodities.
        if check and balance and commodity[0] and self.random.random() < 0.2:
            line += f" = {self.amount(balance, commodity)}"
        return line

    def elided(self, account, commodity, value):
        self.book(account, commodity, value)

    def simple(self):
        commodity = self.random.choice(COMMODITIES)
        values = [self.value(commodity) for _ in range(self.random.randint(1, 4))]
        lines = [self.posting(self.account(), commodity, value) for value in values]
        last = self.account()
        if self.random.random() < 0.5:
            self.elided(last, commodity, -sum(values))
            return lines + [last]
        return lines + [self.posting(last, commodity, -sum(values))]

    def several_elided(self):
        first, second = self.random.sample(COMMODITIES, 2)
        a, b = self.value(first), self.value(second)
        lines = [self.posting(self.account(), first, a), self.posting(self.account(), second, b)]
        last = self.account()
        self.elided(last, first, -a)
        self.elided(last, second, -b)
        return lines + [last]

    def priced(self):
        stock, money = COMMODITIES[4], self.random.choice(COMMODITIES[:3])
        shares = Decimal(self.random.randint(1, 500))
        if self.random.random() < 0.5:
            shares = -shares
        price = Decimal(self.random.randint(1, 99999)).scaleb(-2)
        total = abs(shares) * price
        text = f" @ {self.amount(price, money)}"
        if self.random.random() < 0.4:
            text = f" @@ {self.amount(total, money)}"
        cost = total if shares > 0 else -total
        lines = [self.posting(self.account(), stock, shares, text)]
        last = self.account()
        if self.random.random() < 0.5:
            self.elided(last, money, -cost)
            return lines + [last]
        return lines + [self.posting(last, money, -cost)]

    def rounded_cost(self):
        """The cost has more decimals than the postings write: it balances when rounded."""
        money = COMMODITIES[0]
        shares = Decimal(self.random.randint(1, 9))
        price = Decimal(self.random.randint(10001, 9999999)).scaleb(-4)
        paid = (shares * price).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        if abs(shares * price - paid) >= Decimal("0.005"):
            return self.simple()
        lines = [self.posting(self.account(), COMMODITIES[4], shares, f" @ {price} USD")]
        return lines + [self.posting(self.account(), money, -paid)]

    def exact_rest(self):
        """An elided amount is exact, with more decimals than anything that is written."""
        shares = Decimal(self.random.randint(1, 99))
        price = Decimal(self.random.randint(10001, 9999999)).scaleb(-4)
        lines = [self.posting(self.account(), COMMODITIES[4], shares, f" @ {price} EUR")]
        last = self.account()
        self.elided(last, COMMODITIES[1], -shares * price)
        return lines + [last]

    def implied_price(self):
        first, second = self.random.sample(NAMED, 2)
        a = abs(self.value(first))
        b = -abs(self.value(second))
        return [self.posting(self.account(), first, a), self.posting(self.account(), second, b)]

    def assignment(self):
        commodity = self.random.choice(COMMODITIES[:3])
        account, last = self.random.sample([f"{c}:{n}" for c in self.clients for n in NAMES], 2)
        target = abs(self.value(commodity))
        change = target - self.balances.get((account, commodity[0]), Decimal(0))
        self.book(account, commodity, change)
        self.elided(last, commodity, -change)
        return [f"{account}  = {self.amount(target, commodity)}", last]

    def brackets(self):
        """Postings in square brackets balance among themselves."""
        commodity = self.random.choice(COMMODITIES)
        value = self.value(commodity)
        lines = [f"[Budget:{self.account()}]  {self.amount(change, commodity)}" for change in (value, -value)]
        for line, change in zip(lines, (value, -value)):
            self.book(line[1 : line.index("]")], commodity, change)
        return lines + self.simple()

    def look(self):
        commodity = self.random.choice(COMMODITIES[:3])
        zero = Decimal(0).quantize(Decimal(1).scaleb(-commodity[1]))
        return [self.posting(self.account(), commodity, zero, check=False) for _ in range(2)]

    def header(self):
        self.day += self.random.randint(0, 9)
        width = self.random.choice([1, 2, 2])
        month, day = self.day // 28 % 12 + 1, self.day % 28 + 1
        date = f"{2020 + self.day // 336}-{month:0{width}}-{day:0{width}}"
        if self.random.random() < 0.1:
            date += f"={month}-{day}"
        separator = self.random.choice("-/.")
        status = self.random.choice(["", " *", " !"])
        code = self.random.choice(["", "", f" ({self.random.randint(1, 999)})", " (a b)"])
        text = self.random.choice(["", " Lunch", " Miete, März", " a | b", " 3 * 4 (x)"])
        comment = self.random.choice(["", "", "  ; note: this"])
        return date.replace("-", separator) + status + code + text + comment

    def transaction(self):
        kind = self.random.choices(
            [self.simple, self.several_elided, self.priced, self.rounded_cost, self.implied_price,
             self.exact_rest, self.assignment, self.look, self.brackets],
            [8, 1, 3, 2, 1, 1, 1, 1, 1])[0]  # fmt: skip
        header = self.header()
        indent = self.random.choice(["  ", "    ", "\t"])
        self.lines += ["", header]
        marks = self.random.choice([[""], [""], ["", "* ", "!"]])
        self.lines += [indent + self.random.choice(marks) + line for line in kind()]

    def noise(self):
        return self.random.choice(
            [["; a comment"], ["# another"], ["* a heading"], ["P 2020-01-01 BTC 20000.00 USD"],
             ["comment", "2020-01-01 not a transaction", "end comment"],
             ["commodity USD", "    format 1,000.00 USD"], ["account C2:Assets:Bank"],
             ["payee Lunch"], ["tag note", "    ; a tag"],
             ["P 2020-1-1 10:00:00 BTC 20000.00 USD"],
             ["account C1:Assets:Bank", "    note The bank around the corner"]]
        )  # fmt: skip

    def write(self, count):
        for _ in range(count):
            if self.random.random() < 0.1:
                self.lines += [""] + self.noise()
            self.transaction()
        return "\n".join(self.lines) + "\n"


def check_one(binary, seed, count, folder):
    journal = folder / "random.journal"
    journal.write_text(Writer(seed).write(count), encoding="utf-8")
    for name in folder.glob("random.db*"):
        name.unlink()
    outputs = folder / f"out-{seed}"
    books.run(binary, "run", "--db", folder / "random.db", "--out", outputs, journal)
    return books.compare_with_both(journal, outputs)


def main():
    binary = books.program()
    books.skip_without("ledger", "hledger")
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for seed in range(options.seed, options.seed + options.count):
        print(f"seed {seed}: ", end="", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            print(check_one(binary, seed, 3 + seed % 60, Path(folder)), "balances agree")


if __name__ == "__main__":
    main()
