#!/usr/bin/env python3
"""The steps that come with ledgerbatch, against worked examples: the figures are written down by hand.

usage: step_examples.py LEDGERBATCH STEPS
"""
import shutil
import sys
import tempfile
from pathlib import Path

import books
from books import check

CONSOLIDATION = """\
month-end:
  - step: user
    object: ./consolidation.so
    parameters:
      reciprocal: Assets:Due-from=Liabilities:Due-to, Assets:Shares=Equity:Capital, Intercompany=Intercompany
"""

# A parent owns 800 of the 1,000 shares of its subsidiary; the others own 200. It has lent 500; the
# subsidiary has paid 5 back at the month's end, which has not arrived. A sister company is in the group,
# and has an account with each of them about a delivery. A stranger is not in the group.
GROUP = """\
account Parent:Assets:Cash  ; group:one
account Sister:Assets:Cash  ; group:one
account Subsidiary:Assets:Cash  ; group:one
account Stranger:Assets:Cash  ; group:two
2024-01-02 Capital of the parent
    Parent:Assets:Cash               2,500.00 USD
    Parent:Equity:Capital:Owners
2024-01-03 The subsidiary is founded
    Parent:Assets:Shares:Subsidiary     800.00 USD
    Parent:Assets:Cash
2024-01-03 Capital of the subsidiary
    Subsidiary:Assets:Cash           1,000.00 USD
    Subsidiary:Equity:Capital:Parent  -800.00 USD
    Subsidiary:Equity:Capital:Others  -200.00 USD
2024-01-10 A loan
    Parent:Assets:Due-from:Subsidiary   500.00 USD
    Parent:Assets:Cash
2024-01-10 A loan
    Subsidiary:Assets:Cash              500.00 USD
    Subsidiary:Liabilities:Due-to:Parent
2024-01-12 A loan to somebody else
    Parent:Assets:Due-from:Stranger     100.00 USD
    Parent:Assets:Cash
2024-01-12 A loan
    Stranger:Assets:Cash                100.00 USD
    Stranger:Liabilities:Due-to:Parent
2024-01-20 A delivery, between sisters
    Sister:Intercompany:Subsidiary       70.00 USD
    Sister:Income:Sales
2024-01-20 A delivery, between sisters
    Subsidiary:Assets:Stock              70.00 USD
    Subsidiary:Intercompany:Sister
2024-01-31 Five are on their way
    Subsidiary:Liabilities:Due-to:Parent  5.00 USD
    Subsidiary:Assets:Cash
"""

#                          members     eliminated   group
CONSOLIDATED = """\
account,commodity,members,eliminated,group
Assets:Cash,USD,2595.00,0.00,2595.00
Assets:Due-from,USD,500.00,-500.00,0.00
Assets:Due-from:Stranger,USD,100.00,0.00,100.00
Assets:Shares,USD,800.00,-800.00,0.00
Assets:Stock,USD,70.00,0.00,70.00
Equity:Capital,USD,-800.00,800.00,0.00
Equity:Capital:Others,USD,-200.00,0.00,-200.00
Equity:Capital:Owners,USD,-2500.00,0.00,-2500.00
Income:Sales,USD,-70.00,0.00,-70.00
Liabilities:Due-to,USD,-495.00,495.00,0.00
difference of Parent:Assets:Due-from:Subsidiary and Subsidiary:Liabilities:Due-to:Parent,USD,0.00,5.00,5.00
"""

REVALUATION = """\
month-end:
  - step: user
    object: ./revaluation.so
    parameters:
      currency: USD
      monetary: Assets:Bank, Liabilities:Loans
"""

# 10,000 EUR are bought at 1.10. At the end of January they are worth 11,200: 200 more than they have cost.
# At the end of February 10,900: 300 less than in January. In March 4,000 are sold at 1.15 for 4,600; the
# other 6,000 are worth 6,780, and have cost 11,000 - 4,600 = 6,400; the books have 6,400 - 100, so the
# difference is 480. In all 380: 4,000 x 0.05 = 200 were gained by the sale, and 6,000 x 0.03 = 180 are open.
# A loan of 1,000,000 JPY has brought 6,700; at 0.00675 it is a debt of 6,750, in January and later.
# The shares keep their cost, whatever their price is. In April nothing changes.
FOREIGN = """\
P 2024-01-10 EUR 1.10 USD
P 2024-01-31 EUR 1.12 USD
P 2024-01-31 JPY 0.00675 USD
P 2024-01-31 ACME 200.00 USD
P 2024-02-29 EUR 1.09 USD
P 2024-03-31 EUR 1.13 USD
2024-01-02 Capital
    C1:Assets:Bank             20,000.00 USD
    C1:Equity:Capital
2024-01-10 Buy euros
    C1:Assets:Bank             10,000.00 EUR
    C1:Equity:Conversion      -10,000.00 EUR
    C1:Equity:Conversion       11,000.00 USD
    C1:Assets:Bank            -11,000.00 USD
2024-01-11 Buy shares
    C1:Assets:Shares                10 ACME @ 150.00 USD
    C1:Assets:Bank             -1,500.00 USD
2024-01-15 Borrow yen
    C2:Equity:Conversion    1,000,000 JPY
    C2:Liabilities:Loans   -1,000,000 JPY
    C2:Equity:Conversion       -6,700.00 USD
    C2:Assets:Bank              6,700.00 USD
2024-02-29 Small
    C1:Assets:Bank                 -1.00 USD
    C1:Expenses:Bank
2024-03-15 Sell euros
    C1:Assets:Bank             -4,000.00 EUR
    C1:Equity:Conversion        4,000.00 EUR
    C1:Equity:Conversion       -4,600.00 USD
    C1:Assets:Bank              4,600.00 USD
2024-04-30 Small
    C1:Assets:Bank                 -1.00 USD
    C1:Expenses:Bank
"""
#                     value, cost, allowance before, difference
REVALUED = {
    "01": (("11200.00", "11000.00", "0.00", "200.00"), ("-6750.00", "-6700.00", "0.00", "-50.00")),
    "02": (("10900.00", "11000.00", "200.00", "-300.00"), ("-6750.00", "-6700.00", "-50.00", "0.00")),
    "03": (("6780.00", "6400.00", "-100.00", "480.00"), ("-6750.00", "-6700.00", "-50.00", "0.00")),
    "04": (("6780.00", "6400.00", "380.00", "0.00"), ("-6750.00", "-6700.00", "-50.00", "0.00")),
}


def prepare(folder, steps, name, rules):
    shutil.copy(steps / f"{name}.so", folder)
    (folder / f"{name}.so").chmod(0o755)
    (folder / "rules.yaml").write_text(rules)


def post(binary, folder, text, *options, command="run", expect=0):
    journal = folder / "books.journal"
    journal.write_text(text)
    return books.run(binary, command, "--rules", "rules.yaml", *options, journal, cwd=folder, expect=expect)


def check_consolidation(binary, steps, folder):
    prepare(folder, steps, "consolidation", CONSOLIDATION)
    post(binary, folder, GROUP, command="check")
    post(binary, folder, GROUP)
    report = (folder / "ledgerbatch-out/steps/consolidation/2024-01-one.csv").read_text()
    check(report == CONSOLIDATED, report)
    rows = [line.rsplit(",", 3)[1:] for line in report.splitlines()[1:]]
    check([sum(round(100 * float(row[i])) for row in rows) for i in range(3)] == [0, 0, 0], "a column's sum")
    other = (folder / "ledgerbatch-out/steps/consolidation/2024-01-two.csv").read_text()
    check("Liabilities:Due-to:Parent,USD,-100.00,0.00,-100.00\n" in other, other)
    books.compare_with_both(folder / "books.journal", folder / "ledgerbatch-out")
    print("consolidation: the worksheet of the example; the members' books stay as they are")


def check_revaluation(binary, steps, folder):
    prepare(folder, steps, "revaluation", REVALUATION)
    post(binary, folder, FOREIGN, command="check")
    post(binary, folder, FOREIGN)
    outputs = folder / "ledgerbatch-out"
    for month, lines in REVALUED.items():
        wanted = "client,value,cost,allowance before,difference\n" + "".join(
            f"C{number + 1},{','.join(line)}\n" for number, line in enumerate(lines))  # fmt: skip
        report = (outputs / f"steps/revaluation/2024-{month}-all.csv").read_text()
        check(report == wanted, f"{month}: {report}")
    balances = books.our_balances(outputs / "balances.csv")
    for account, amount in (("C1:Assets:Revaluation", "380.00"), ("C1:Income:Revaluation", "-380.00"),
                            ("C2:Assets:Revaluation", "-50.00"), ("C2:Income:Revaluation", "50.00")):  # fmt: skip
        check(str(balances[account, "USD"]) == amount, f"{account}: {balances}")
    books.compare_with_both(None, outputs)
    return balances, {month: (outputs / f"steps/revaluation/2024-{month}-all.csv").read_bytes() for month in REVALUED}


def check_revalued_days(binary, steps, folder):
    """Days one by one, with each price on its day, end like one run."""
    wanted, reports = check_revaluation(binary, steps, folder)
    shutil.rmtree(folder / "ledgerbatch-out")
    (folder / "ledgerbatch.db").unlink()
    begin, parts = "", {}
    for entry in FOREIGN.replace("\nP ", "\n\nP ").replace("\n2024", "\n\n2024").split("\n\n"):
        date = (entry[2:12] if entry.startswith("P") else entry[:10]).strip()
        parts.setdefault(date, []).append(entry)
    # The first day says how many decimals there are.
    begin = "commodity EUR\n  format 1,000.00 EUR\ncommodity USD\n  format 1,000.00 USD\n"
    begin += "account C1:Assets:Bank\naccount C2:Assets:Bank\n"
    found = {}
    for date in sorted(parts):
        post(binary, folder, begin + "\n".join(parts[date]) + "\n", "--date", date, command="day")
        for file in (folder / f"ledgerbatch-out/{date}").glob("steps/revaluation/*"):
            found[file.name[5:7]] = file.read_bytes()
        begin = ""
    balances = books.our_balances(folder / f"ledgerbatch-out/{max(parts)}/balances.csv")
    check(balances == wanted, f"the days' balances: {balances}")
    check({month: found.get(month) for month in reports} == reports, f"the days' reports: {found}")
    print("revaluation: the figures of the example, in one run and in days; no gain is booked twice")


def check_faults(binary, steps, folder):
    """Without a price, or without a known cost, the client is held, and the reason says why."""
    prepare(folder, steps, "revaluation", REVALUATION)
    for text, reason in (
        ("2024-01-31 Buy\n    C1:Assets:Bank  10.00 EUR\n    C1:Equity:Conversion\n    C1:Equity:Conversion  11.00 USD\n"
         "    C1:Assets:Bank  -11.00 USD\n", "there is no price of EUR in USD up to 2024-01-31"),
        ("P 2024-01-01 EUR 1.10 USD\n2024-01-31 Sell\n    C1:Assets:Bank  10.00 EUR\n    C1:Income:Sales\n"
         "2024-01-31 Dollars\n    C1:Assets:Bank  1.00 USD\n    C1:Income:Sales\n",
         "Equity:Conversion does not have the opposite of the monetary accounts in EUR: so their cost is not known"),
    ):  # fmt: skip
        for path in folder.glob("ledgerbatch.db*"):
            path.unlink()
        post(binary, folder, text, expect=3)
        said = books.run(binary, "status", cwd=folder).stdout.decode()
        check(f"the step revaluation fails for C1: {reason}" in said, said)
    (folder / "rules.yaml").write_text(REVALUATION.replace("currency: USD", "currency: GBP"))
    for path in folder.glob("ledgerbatch.db*"):
        path.unlink()
    said = post(binary, folder, FOREIGN, expect=2).stderr.decode()
    check("the step revaluation fails to prepare the client 'C1': the parameter 'currency' names no commodity of the "
          "books" in said, said)  # fmt: skip
    print("revaluation: a missing price, an unknown cost and a wrong parameter are named")


def main():
    binary = books.program()
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    steps = Path(sys.argv[1]).resolve()
    books.skip_without("ledger", "hledger")
    for test in (check_consolidation, check_revalued_days, check_faults):
        with tempfile.TemporaryDirectory() as path:
            test(binary, steps, Path(path))


if __name__ == "__main__":
    main()
