#!/usr/bin/env python3
"""The commands, their options and exit codes, as a user meets them.

usage: commands.py LEDGERBATCH
"""
import os
import subprocess
import tempfile
from pathlib import Path

import books
from books import check

# The second transaction is refused where cash must not be overdrawn. The assertion is about the
# input alone, where nothing is refused.
JOURNAL = """\
account C1:Cash  ; group:east

2024-01-05 * (7) Opening
  C1:Cash  100.00 USD
  C2:Cash  50.00 USD
  Equity:Opening

2024-01-06 Too much
  C1:Cash  -100.01 USD
  C2:Cash  100.01 USD

2024-01-07 "Quoted", text
  C2:Cash  -50.00 USD
  C1:Cash  50.00 USD = 49.99 USD
"""
REFUSAL_ORDER = """\
2024-01-02 second in date order
  C1:Cash  -5 USD
  C2:Cash

2024-01-01 first
  C1:Cash  5 USD
  Bank

2024-01-02 third: nothing is left
  C1:Cash  -5 USD
  C2:Cash

2024-01-03 improves, though still below zero
  C3:Cash  -1 USD
  C3:Cash  2 USD
  Bank
"""


class Folder:
    def __init__(self, binary, folder):
        self.binary, self.path = binary, Path(folder)

    def write(self, name, text):
        (self.path / name).write_text(text, encoding="utf-8")
        return name

    def run(self, *arguments, expect=0, **options):
        return books.run(self.binary, *arguments, expect=expect, cwd=self.path, **options)

    def read(self, name):
        return (self.path / name).read_text(encoding="utf-8")


def check_help_and_version(folder):
    check(b"ledgerbatch run" in folder.run("--help").stdout, "--help shows the commands")
    check(folder.run("--version").stdout.startswith(b"ledgerbatch "), "--version")
    whole = folder.run("--help").stdout
    for arguments in (["-h"], ["run", "--help"], ["run", "x", "-h"], ["status", "--help"],
                      ["balances", "-h"], ["register", "-h"], ["generate", "--help"]):  # fmt: skip
        check(folder.run(*arguments).stdout == whole, f"help for {arguments}")


def check_usage(folder):
    folder.write("ok.journal", JOURNAL)
    for arguments in (
        [], ["walk"], ["run"], ["run", "--workers", "0", "ok.journal"],
        ["run", "--workers", "x", "ok.journal"], ["run", "--client-depth", "0", "ok.journal"],
        ["run", "--unknown", "ok.journal"], ["run", "ok.journal", "--db"],
        ["run", "--end-month", "--monthly", "never", "ok.journal"], ["balances", "x"], ["generate", "tpcb"],
        ["run", "--statements", "bank", "ok.journal"],
        ["run", "--commutative", "C1*", "--no-overdraft", "*Cash", "ok.journal"],
        ["run", "--commutative", "C1*", "ok.journal"],
        ["run", "--commutative", "*:Retained", "--commutative", "*Expenses", "--end-month", "--monthly", "close",
         folder.write("e.journal", "2024-01-01 x\n  A:Income  1 USD\n  A:Cash\n")],
    ):  # fmt: skip
        message = folder.run(*arguments, expect=2).stderr
        check(message.strip(), f"a message for {arguments}")
    check(not (folder.path / "ledgerbatch.db").exists(), "wrong usage writes no database")


def check_input_problems(folder):
    folder.write("sub.journal", "2024-01-01 x\n  A  1,000 USD\n  B\n")
    folder.write("bad.journal", "; one\ninclude sub.journal\n")
    message = folder.run("run", "bad.journal", expect=2).stderr.decode()
    check(message.startswith("sub.journal:2: "), f"file:line: message, not {message!r}")
    folder.write("self.journal", "include self.journal\n")
    message = folder.run("run", "self.journal", expect=2).stderr.decode()
    check("includes itself" in message, message)
    # What the input contains must not reach the terminal's controls.
    folder.write("bell.journal", "2024-01-01 x\n  A\x1b[31m  1 USD\n  B\n")
    message = folder.run("run", "bell.journal", expect=2).stderr
    check(b"'A?[31m'" in message, f"control characters are not printed: {message!r}")
    folder.run("run", "missing.journal", expect=1)
    check(not (folder.path / "ledgerbatch.db").exists(), "wrong input writes no database")
    check(not (folder.path / "ledgerbatch-out").exists(), "wrong input writes no outputs")


# Each fault with its line and what the message must quote or advise.
FAULTS = """\
2024-13-05 No such day
  C1:Cash  100.00 USD
  Equity

2024-01-05 Two faults of one transaction: the first counts
  C1:Cash  1,00,0 USD
  Equity
  Other  5

1-6 x
  C1:Cash  1 USD
  B

include nofile.journal
2024-01-07 y
  C1:Cash  10 USD
  Equity  -9 USD
2024-01-08 z
  C1:Cash 10 USD
  Equity
alias /a/=b
2024-01-09 (7 q
  C1:Cash  10 USD
  Equity
  belongs to the faulty one

2024-01-10 good, and counts for nothing
  C1:Cash  10 USD = 20 USD
  Equity
"""
FAULT_WORDS = ["1: there is no such day: '2024-13-05'", "6: commas separate groups of three digits; decimals follow a "
               "point: '1,00,0 USD'", "10: a date without a year needs a line such as 'Y2024'",
               "14: nofile.journal: No such file", "15: the transaction does not balance: 1 USD is left over",
               "20: only one posting of a transaction may lack its amount, and line 19 has none either",
               "21: hledger reads a pattern here", "22: the code's bracket is not closed"]  # fmt: skip
CSV_FAULTS = """\
seq,date,from,to,amount,commodity
1,2024-01-05,A,B,5,USD
2,2024-01-35,A,B,5,USD
3,2024-01-05,A,B,1;5,USD
3,2024-01-05,A,B,15,USD
4,2024-01-05,A,B,15
5,2024-01-05,A,"B" x,15,USD
6,2024-01-05,A,B,-15,USD
"""
CSV_WORDS = ["3: there is no such day: '2024-01-35'", "4: the amount '1;5' is not a number", "5: seq strictly increases",
             "6: 5 fields where 6 are expected", "7: a field is followed by a comma or a line end",
             "8: an amount is positive: '-15'"]  # fmt: skip
ASSERTIONS = """\
2024-01-05 Opening
  C1:Cash  100.00 USD = 101.00 USD
  Equity
2024-01-06 Right, if the one before is
  C1:Cash  1.00 USD = 102.00 USD
  C2:Cash  5 USD = 11 USD
  Equity
"""
ASSERTION_WORDS = ["2: the balance of 'C1:Cash' is asserted to be 101.00 USD but is 100.00",
                   "6: the balance of 'C2:Cash' is asserted to be 11 USD but is 5"]  # fmt: skip


def check_aliases(folder):
    """ledger reads an alias in the next file, too, hledger does not."""
    folder.write("first.journal", "alias bank=Assets:Bank\n2024-01-02 x\n  bank  1 USD\n  Equity\n")
    folder.write("second.journal", "2024-01-03 y\n  bank:joint  1 USD\n  Equity\n")
    folder.write("third.journal", "2024-01-03 y\n  Assets:Bank  1 USD\n  Equity\n")
    message = folder.run("check", "first.journal", "second.journal", expect=2).stderr.decode()
    check("second.journal:2: for ledger, an alias goes on behind the file that has it" in message, message)
    folder.run("check", "second.journal", "first.journal")
    folder.run("check", "first.journal", "third.journal")
    folder.run("check", "--client-by", "file", "first.journal", "second.journal")


def check_all_faults(folder):
    """All faults are listed at once, each with its place; the last line says how many."""
    for name, text, options, words in (("faults.journal", FAULTS, (), FAULT_WORDS),
                                       ("faults.csv", CSV_FAULTS, ("--csv",), CSV_WORDS),
                                       ("faults2.journal", ASSERTIONS, (), ASSERTION_WORDS)):  # fmt: skip
        folder.write(name, text)
        found = folder.run("run", *options, name, expect=2).stderr.decode().splitlines()
        check(found[-1] == f"ledgerbatch: {len(words)} errors in the input; nothing was written", f"{found}")
        check(len(found) == len(words) + 1, "\n".join(found))
        for line, wanted in zip(found, words):
            check(line.startswith(f"{name}:{wanted}"), f"{line}, not {wanted}")
    for count in (19, 20, 21, 500):
        folder.write("many.journal", "x\n" * count)
        found = folder.run("run", "many.journal", "many.journal", expect=2).stderr.decode().splitlines()
        check(len(found) == 21 and "ledgerbatch: the first 20 errors" in found[-1], f"{count}: {found[-1]}")
    check(not (folder.path / "ledgerbatch.db").exists(), "wrong input writes no database")


def check_nearest(folder):
    """Patterns and groups that match nothing are errors that name what is near."""
    folder.write("near.journal", JOURNAL)
    for options, words in (
        (("--no-overdraft", "*:Cahs"), "no account matches --no-overdraft '*:Cahs'; the nearest is 'C1:Cash'"),
        (("--commutative", "equity:*"), "--commutative 'equity:*'; the nearest is 'Equity:Opening'"),
        (("--commutative", "Equity:*", "--commutative", "Bank:*"), "no account matches --commutative 'Bank:*'\n"),
        (("--fail-on", "C3:Cash"), "--fail-on 'C3:Cash'; the nearest is 'C1:Cash'"),
        (("--end-month", "--monthly", "accrual=0.1"), "no account matches the default of --accrual-accounts, '*Savings*'"),
        (("--end-month", "--monthly", "accrual=0.1", "--accrual-accounts", "C?:Cush"), "--accrual-accounts 'C?:Cush'; the nearest"),
        (("--monthly", "close", "--accrual-accounts", "C?:Cash"), "--accrual-accounts is about accrual, which --monthly does not name"),
        (("--accrual-accounts", "C?:Cash"), "--accrual-accounts is about accrual, which --monthly does not name"),
    ):  # fmt: skip
        message = folder.run("run", *options, "near.journal", expect=2).stderr.decode()
        check(words in message, message)
    folder.write("group.journal", "account C10:Cash  ; group:west\n" + JOURNAL)
    message = folder.run("run", "group.journal", expect=2).stderr.decode()
    check("group.journal:1: the group 'west' has no client: there are no transactions of 'C10'; the nearest is 'C1'"
          in message, message)  # fmt: skip
    check(not (folder.path / "ledgerbatch.db").exists(), "wrong patterns write no database")
    folder.write("group.journal", "account C10:Cash  ; group:east\n" + JOURNAL)
    folder.run("run", "--db", "group.db", "group.journal")  # a client of a known group may rest


def check_many_includes(folder):
    """Neither a long chain of files nor files that double at every step exhaust the program."""
    for name, count, times, words in (("chain", 3000, 1, "100 deep"), ("tree", 40, 2, "100000 files")):
        for i in range(count):
            folder.write(f"{name}{i}.journal", f"include {name}{i + 1}.journal\n" * times)
        folder.write(f"{name}{count}.journal", "; the end\n")
        message = folder.run("run", f"{name}0.journal", expect=2).stderr.decode()
        check(words in message, message)


def check_irregular_includes(folder):
    """A file that is included cannot make the program wait or read for ever."""
    os.mkfifo(folder.path / "pipe.journal")
    for name, words in (("pipe.journal", "pipe.journal: is not a regular file"),
                        ("/dev/zero", "/dev/zero: is not a regular file"),
                        ("-", "standard input cannot be included")):  # fmt: skip
        folder.write("odd.journal", f"; first\ninclude {name}\n")
        message = folder.run("run", "odd.journal", expect=2).stderr.decode()
        check(f"odd.journal:2: {words}" in message, message)


def check_include_root(folder):
    """With --include-root, a journal reaches no file outside, whatever way it names."""
    (folder.path / "root" / "more").mkdir(parents=True)
    (folder.path / "root2").mkdir()
    folder.write("root2/secret.journal", "; outside\n")
    folder.write("root/more/inside.journal", "2024-01-01 x\n  C1:Cash  1 USD\n  Bank\n")
    os.symlink("../root2/secret.journal", folder.path / "root" / "link.journal")
    os.symlink("root", folder.path / "way")
    outside = folder.path / "root2" / "secret.journal"
    for name in ("../root2/secret.journal", "more/../../root2/secret.journal", "link.journal", outside):
        folder.write("root/main.journal", f"include {name}\n")
        message = folder.run("run", "--include-root", "way", "root/main.journal", expect=2).stderr.decode()
        check("main.journal:1: " in message and "(--include-root)" in message, message)
    folder.write("root/main.journal", "include more/inside.journal\n")
    folder.run("run", "--include-root", "way", "--db", "root.db", "root/main.journal")
    message = folder.run("run", "--include-root", "nowhere", "root/main.journal", expect=2).stderr.decode()
    check("--include-root nowhere: No such file" in message, message)


def check_many_month_ends(folder):
    """Two dates far apart, and a group for each of many clients: too much is said beforehand."""
    clients = range(400)
    folder.write("ages.journal", "".join(f"account C{n}:Cash  ; group:g{n}\n" for n in clients)
                 + "1400-01-01 x\n" + "".join(f"  C{n}:Cash  1 USD\n" for n in clients)
                 + "  Bank\n\n9999-12-31 y\n  Bank  1 USD\n  Equity\n")  # fmt: skip
    message = folder.run("run", "--end-month", "--monthly", "statement,accrual=0.1,close", "--accrual-accounts",
                         "C*:Cash", "--db", "ages.db", "ages.journal", expect=2).stderr.decode()  # fmt: skip
    check("the first month is 1400-01, the last is 9999-12" in message, message)
    folder.run("run", "--db", "ages.db", "ages.journal")


def check_run(folder):
    folder.run("run", "--no-overdraft", "*:Cash", "ok.journal")
    wanted = "account,commodity,amount\nC1:Cash,USD,150.00\nEquity:Opening,USD,-150.00\n"
    check(folder.read("ledgerbatch-out/balances.csv") == wanted, "balances.csv")
    balances = folder.run("balances", "--db", "ledgerbatch.db").stdout.decode()
    check(balances == wanted, "the balances command prints the same")
    refused = folder.read("ledgerbatch-out/refused.csv").splitlines()
    check(refused == ["seq,date,file,line,reason",
                      "2,2024-01-06,ok.journal,8,overdraft: C1:Cash would be -0.01 USD"],
          f"refused.csv: {refused}")  # fmt: skip
    posted = folder.read("ledgerbatch-out/posted.journal")
    check("; refused: overdraft: C1:Cash would be -0.01 USD\n; 2024-01-06 Too much\n" in posted,
          "refused transactions are comments of posted.journal")  # fmt: skip
    check("2024-01-05 * (7) Opening\n" in posted, "headers stay as they are")
    status = folder.run("status", "--db", "ledgerbatch.db").stdout.decode()
    check("state: finished" in status and "tasks: 3 of 3 done" in status, status)
    check("would be -0.01 USD" in status, "status shows refusals with their reasons")


def check_finished(folder):
    before = (folder.path / "ledgerbatch.db").read_bytes()
    posted = folder.path / "ledgerbatch-out/posted.journal"
    posted.write_text("changed")
    result = folder.run("run", "--no-overdraft", "*:Cash", "--workers", "1", "ok.journal")
    check(result.stdout.startswith(b"ledgerbatch.db is finished: 3 tasks are done; nothing to do\nhead "),
          f"a finished database says so: {result.stdout}")  # fmt: skip
    check((folder.path / "ledgerbatch.db").read_bytes() == before, "and stays as it is")
    check(posted.read_text() == "changed", "and writes no outputs")
    check(folder.run("balances", "--db", "ledgerbatch.db").stdout, "and can be read")


def check_other(folder):
    folder.run("run", "ok.journal", expect=4)
    folder.write("other.journal", JOURNAL.replace("Too much", "Much"))
    folder.run("run", "--no-overdraft", "*:Cash", "other.journal", expect=4)
    folder.write("text.db", "this is no database, but it is long enough to look like a file\n" * 9)
    folder.run("run", "--db", "text.db", "ok.journal", expect=4)
    books.run("sqlite3", folder.path / "foreign.db", "CREATE TABLE t(x);")
    folder.run("run", "--db", "foreign.db", "ok.journal", expect=4)
    folder.run("status", "--db", "foreign.db", expect=4)
    message = folder.run("status", "--db", "none.db", expect=1).stderr.decode()
    check("none.db: No such file" in message, f"a missing database is called missing: {message}")
    ok = folder.write("whole.journal", JOURNAL)
    message = folder.run("run", "--db", "none/x.db", ok, expect=1).stderr.decode()
    check("none/x.db: cannot be made" in message, f"a database without a folder: {message}")
    # The same content under another name is the same input.
    os.rename(folder.path / "ok.journal", folder.path / "moved.journal")
    folder.run("run", "--no-overdraft", "*:Cash", "moved.journal")


def check_standard_input(folder):
    result = folder.run("run", "--db", "in.db", "--out", "in", "--no-overdraft", "*:Cash", "-",
                        input=JOURNAL.encode())  # fmt: skip
    check(b"3 transactions" in result.stdout, "standard input is read")
    check(",\"'-\",8," in folder.read("in/refused.csv"), "its name is -")
    message = folder.run("run", "-", expect=2, input=b"x\n").stderr.decode()
    check(message.startswith("-:1: "), message)


def check_refusals_in_order(folder):
    folder.write("order.journal", REFUSAL_ORDER)
    folder.run("run", "--db", "order.db", "--out", "order", "--no-overdraft", "*:Cash",
               "order.journal")  # fmt: skip
    refused = folder.read("order/refused.csv").splitlines()[1:]
    check(refused == ["3,2024-01-02,order.journal,9,overdraft: C1:Cash would be -5 USD"],
          f"refusals follow the date, then the file: {refused}")  # fmt: skip
    balances = folder.read("order/balances.csv")
    check("C2:Cash,USD,5\n" in balances and "C3:Cash,USD,1\n" in balances, balances)


def check_transfers(folder):
    folder.write("t.csv", "seq,date,from,to,amount,commodity\r\n"
                          '10,2024-01-02,Bank:Cash,"C1:A, b",10.50,USD\r\n'
                          "11,2024-01-01,Bank:Cash,C2:A,1,EUR\r\n")  # fmt: skip
    folder.run("run", "--csv", "--db", "t.db", "--out", "t", "--commutative", "Bank:*", "t.csv")
    check(folder.read("t/balances.csv").splitlines()[1:] == [
        "Bank:Cash,EUR,-1", "Bank:Cash,USD,-10.50", '"C1:A, b",USD,10.50', "C2:A,EUR,1"],
        "the balances of transfers")  # fmt: skip
    posted = folder.read("t/posted.journal")
    check("2024-01-02 * (10) transfer\n" in posted, "a transfer keeps its number as its code")
    cash = [line for line in posted.splitlines() if "Bank:Cash" in line]
    check([line.split("= ")[1] for line in cash] == ["-1 EUR", "-10.50 USD"],
          f"each posting to a house account asserts its balance: {cash}")  # fmt: skip


REGISTER = """\
seq,date,code,text,commodity,amount,balance
1,2024-01-02,A-1,"Opening, first",USD,100.00,100.00
2,2024-01-20,,Food,USD,-12.50,87.50
2,2024-01-20,,Food,EUR,3.00,3.00
3,2024-02-01,,Food,USD,-7.50,80.00
"""
TRIAL_BALANCE_AT = """\
kind,group,account,commodity,debit,credit
account,all,C1:Cash,EUR,3.00,0.00
account,all,C1:Cash,USD,87.50,0.00
account,all,C1:Food,EUR,0.00,3.00
account,all,C1:Food,USD,12.50,0.00
account,(house),Bank:Vault,USD,0.00,100.00
group,(house),,USD,0.00,100.00
group,all,,EUR,3.00,3.00
group,all,,USD,100.00,0.00
book,,,EUR,3.00,3.00
book,,,USD,100.00,100.00
"""


def check_register(folder):
    folder.write("r.journal", "2024-01-02 (A-1) Opening, first\n  C1:Cash  100.00 USD\n  Bank:Vault\n"
                 "2024-01-20 Food\n  C1:Cash  -12.50 USD\n  C1:Food  12.50 USD\n"
                 "  C1:Cash  3.00 EUR\n  C1:Food  -3.00 EUR\n"
                 "2024-02-01 Food\n  C1:Food  7.50 USD\n  C1:Cash\n")  # fmt: skip
    folder.run("run", "--db", "r.db", "--out", "r", "--commutative", "Bank:*", "r.journal")
    found = folder.run("register", "C1:Cash", "--db", "r.db").stdout.decode()
    check(found == REGISTER, f"the register of C1:Cash:\n{found}")
    found = folder.run("register", "--db", "r.db", "Bank:Vault").stdout.decode()
    check(found.splitlines()[1:] == ['1,2024-01-02,A-1,"Opening, first",USD,-100.00,-100.00'],
          f"the register of a house account:\n{found}")  # fmt: skip
    found = folder.run("trial-balance", "--at", "2024-01-31", "--db", "r.db").stdout.decode()
    check(found == TRIAL_BALANCE_AT, f"the trial balance of a day:\n{found}")
    found = folder.run("trial-balance", "--db", "r.db").stdout.decode()
    check("account,all,C1:Cash,USD,80.00,0.00\n" in found, f"the trial balance at the end:\n{found}")
    for words, message in (
            (["register", "C1:Cahs", "--db", "r.db"], "no account has the name 'C1:Cahs'; the nearest is 'C1:Cash'"),
            (["register", "--db", "r.db"], "register needs the name of an account"),
            (["register", "C1:Cash", "C1:Food"], "unknown argument C1:Food"),
            (["balances", "C1:Cash"], "unknown argument C1:Cash"),
            (["trial-balance", "--at", "2024-13-01"], "--at takes a day such as 2024-03-05, not 2024-13-01"),
            (["register", "C1:Cash", "--at", "2024-01-31"], "unknown argument --at")):
        found = folder.run(*words, expect=2).stderr.decode()
        check(message in found, f"{words}: {found}")


STATEMENT = """\
kind,seq,date,text,account,commodity,amount,balance
opening,,,,C1:Cash,USD,,100.00
posting,2,2024-01-20,Food,C1:Cash,USD,-12.50,87.50
posting,2,2024-01-20,Food,C1:Food,USD,12.50,12.50
posting,2,2024-01-20,Food,C1:Cash,EUR,3.00,3.00
posting,2,2024-01-20,Food,C1:Food,EUR,-3.00,-3.00
closing,,,,C1:Cash,EUR,,3.00
closing,,,,C1:Cash,USD,,87.50
closing,,,,C1:Food,EUR,,-3.00
closing,,,,C1:Food,USD,,12.50
"""


def check_house_statements(folder):
    """The postings and balances of a house account are those of its register, month by month."""
    lines = []
    for month in ("2024-01", "2024-02"):
        text = folder.read(f"m/statements/(house)/{month}.csv").splitlines()
        check([row.replace("opening", "closing") for row in text if row.startswith("opening")] ==
              [row for row in lines[-1:] if row.startswith("closing")], f"{month} opens with\n{text}")  # fmt: skip
        lines += text
    wanted = folder.run("register", "Bank:Vault", "--db", "m.db").stdout.decode().splitlines()[1:]
    found = [row for row in lines if row.startswith("posting,")]
    check([row.split(",")[-2:] for row in found] == [row.split(",")[-2:] for row in wanted] and wanted,
          f"the statements of Bank:Vault: {found}\n{wanted}")  # fmt: skip



def check_statement(folder):
    """The journal is that of the register. The file of a month says the same."""
    range_of = ["--from", "2024-01-03", "--to", "2024-01-31", "--db", "r.db"]
    found = folder.run("statement", "C1", *range_of).stdout.decode()
    check(found == STATEMENT, f"the statement of C1:\n{found}")
    found = folder.run("statement", "C1", "--db", "r.db").stdout.decode().splitlines()
    check(not found[1].startswith("opening") and found[-1] == "closing,,,,C1:Food,USD,,20.00",
          f"the statement of all days: {found}")  # fmt: skip
    folder.run("run", "--db", "m.db", "--out", "m", "--commutative", "Bank:*", "--statements", "client",
               "--end-month", "--monthly", "statement", "r.journal")  # fmt: skip
    for month, words in (("2024-01", ["--to", "2024-01-31"]), ("2024-02", ["--from", "2024-02-01"])):
        wanted = (folder.path / f"m/statements/C1/{month}.csv").read_text()
        found = folder.run("statement", "C1", "--db", "m.db", *words).stdout.decode()
        check(found == wanted, f"{month}: {found} is not the file:\n{wanted}")
    check_house_statements(folder)
    for words, message in (
            (["statement", "C2", "--db", "r.db"], "no client has the name 'C2'; the nearest is 'C1'"),
            (["statement", "Bank", "--db", "r.db"], "no client has the name 'Bank'"),
            (["statement", "--db", "r.db"], "statement needs the name of a client"),
            (["statement", "C1", "--from", "2024-02-01", "--to", "2024-01-01"], "--from is a later day than --to"),
            (["statement", "C1", "--to", "tomorrow"], "--to takes a day such as 2024-03-05, not tomorrow"),
            (["statement", "C1", "--at", "2024-01-31"], "unknown argument --at")):
        found = folder.run(*words, expect=2).stderr.decode()
        check(message in found, f"{words}: {found}")


def check_statement_of_late_rollup(folder):
    """The interest of January is posted in February. Opening and postings add up to closing."""
    folder.write("l.journal", "account A:Cash  ; group:one\naccount D:Cash  ; group:one\n"
                 "2024-01-02 x\n  A:Savings  500 USD\n  A:Cash\n"
                 "2024-01-03 y\n  D:Broken  1 USD\n  D:Cash\n"
                 "2024-02-02 z\n  A:Savings  3 USD\n  A:Cash\n")  # fmt: skip
    options = ["--end-month", "--monthly", "accrual=0.12", "--on-quarantine", "fail", "--db", "l.db", "--out", "l", "l.journal"]
    folder.run("run", "--fail-on", "D:Broken", *options, expect=3)
    folder.run("retry", "--all", *options)
    text = folder.run("statement", "A", "--from", "2024-02-01", "--db", "l.db").stdout.decode()
    sums = {"A:Savings": 0, "A:Cash": 0, "A:Income:Interest": 0}
    for kind, _, _, _, account, _, amount, balance in (line.split(",") for line in text.splitlines()[1:]):
        sums[account] += {"opening": 1, "posting": 1, "closing": -1}[kind] * int(amount or balance)
    check(text.count(",Interest,") == 4 and not any(sums.values()), f"{sums}:\n{text}")


def check_control_characters(folder):
    """No text of the input reaches the terminal as a control character."""
    folder.write("c.journal", "2024-01-02 Open \033[31mred\007 \u009b2J \tté\n  A:Cash  1 USD\n  B:Cash\n"
                 "2024-01-03 x \033[2J\n  A:Cash  -5 USD\n  B:Cash\n"
                 "2024-01-04 y \033[3J\n  D:Cash  5 USD\n  D:Food\n")  # fmt: skip
    folder.run("run", "--no-overdraft", "A:Cash", "--fail-on", "D:Food", "--db", "c.db", "--out", "c",
               "c.journal", expect=3)  # fmt: skip
    status = folder.run("status", "--db", "c.db").stdout.decode()
    check(r"2024-01-03 x \x1b[2J" in status and r"2024-01-04 y \x1b[3J" in status, status)
    for words in (["register", "A:Cash"], ["statement", "A"]):
        found = folder.run(*words, "--db", "c.db").stdout.decode()
        check(r"Open \x1b[31mred\x07 \xc2\x9b2J" in found and "té" in found, found)


def check_client_depth(folder):
    folder.write("d.journal", "2024-01-01 x\n  clients:1:Cash  1 USD\n  clients:2:Cash\n")
    result = folder.run("run", "--db", "d.db", "--out", "d", "--client-depth", "2", "d.journal")
    check(b"of 2 clients" in result.stdout, "two components name a client")


def check_full_output(folder):
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            code = subprocess.run([folder.binary, "balances", "--db", "ledgerbatch.db"],
                                  cwd=folder.path, stdout=full, stderr=subprocess.DEVNULL)  # fmt: skip
        check(code.returncode == 1, "standard output that is full is an error")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(binary, path)
        check_help_and_version(folder)
        check_usage(folder)
        check_input_problems(folder)
        check_all_faults(folder)
        check_aliases(folder)
        check_nearest(folder)
        check_many_includes(folder)
        check_irregular_includes(folder)
        check_include_root(folder)
        check_many_month_ends(folder)
        check_run(folder)
        check_finished(folder)
        check_full_output(folder)
        check_other(folder)
        check_standard_input(folder)
        check_refusals_in_order(folder)
        check_transfers(folder)
        check_register(folder)
        check_statement(folder)
        check_statement_of_late_rollup(folder)
        check_control_characters(folder)
        check_client_depth(folder)
    print("commands: all as they should be")


if __name__ == "__main__":
    main()
