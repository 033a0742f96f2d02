#!/usr/bin/env python3
"""--rejects: what is wrong in the input goes to a file, and the result is that of the input without it.

usage: rejects.py LEDGERBATCH [--transactions N] [--damages N] [--kills N] [--seed S]
"""
import argparse
import csv
import random
import re
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import books
import small_batch
from books import check

RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Checking", "--monthly", "statement,close"]
HEADER = "seq,date,from,to,amount,commodity\n"


class Case:
    """One database with its outputs and its file of rejects."""

    def __init__(self, binary, folder, name):
        self.binary, self.folder = binary, folder / name
        self.folder.mkdir()
        self.rejects = self.folder / "rejects"

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def words(self, command, *words, database="db"):
        writes = command in ("run", "day", "retry")
        outputs = ["--out", self.folder / f"{database}-out"] if writes else []
        return [self.binary, command, "--db", self.folder / database, *outputs, *words]

    def command(self, command, *words, expect=0, database="db", **options):
        return books.run(*self.words(command, *words, database=database), expect=expect, **options)

    def run(self, *words, **options):
        return self.command("run", "--rejects", self.rejects, *words, **options)

    def has_batch(self):
        """An empty file is no database yet."""
        database = self.folder / "db"
        return database.exists() and database.stat().st_size > 0

    def outputs(self, database="db"):
        """All outputs but the totals, which count what is rejected."""
        found = books.fingerprint(self.folder / database, self.folder / f"{database}-out")
        return {name: digest for name, digest in found.items() if name not in (".dump", "totals.csv")}

    def check_without(self, path, lines, *words, name="cleaned"):
        """The outputs are those of the input in which the rejected lines are empty."""
        kept = [line if number not in lines else "" for number, line in enumerate(path.read_text().split("\n"), 1)]
        (self.folder / name).mkdir()
        cleaned = self.folder / name / path.name
        cleaned.write_text("\n".join(kept))
        books.run(*self.words("run", *words, path.name, database=name + "/db"), cwd=cleaned.parent)
        books.check_same(self.outputs(), self.outputs(name + "/db"), "the outputs without what is rejected")


# Each fault, with its first line, its number of lines, and what is said of it.
FAULTS = """\
2024-01-05 good
  C1:Cash  100.00 USD
  Bank

2024-13-05 No such day
  C1:Cash  100.00 USD
  Equity
2024-01-05 too many decimals, and not balanced
  C2:Cash  1.12345 USD
  Equity  2 EUR
  Other  5 XYZ
2024-01-06 names a client that nothing else has
  C9:Cash  1,00 USD
  C1:Cash
    this line belongs to it

2024-01-06 wrong
  C2:Cash  10.00 USD = 11.00 USD
  C1:Cash
2024-01-09 (7 no end
2024-01-10 right: what was rejected does not count
  C2:Cash  7.00 USD = 7.00 USD
  C1:Cash  -7.00 USD = 93.00 USD
2024-01-11 wrong, perhaps because another one is
  C2:Cash  1.00 USD = 18.00 USD
  C1:Cash
2024-01-12 last, without a line end
  C1:Cash  5 USD
  Bank:Fees  -4 USD"""
WORDS = [(5, 3, "5: there is no such day: '2024-13-05'"), (8, 4, "8: the transaction does not balance: 1.12345 USD is left over"),
         (12, 4, "13: amounts of 'USD' have decimal points in one place and decimal commas in another: write one of them "
                    "everywhere"),
         (17, 3, "18: the balance of 'C2:Cash' is asserted to be 11.00 USD but is 10.00; see {}:8, which is rejected "
              "and has this account"), (20, 1, "20: the code's bracket is not closed"),
         (24, 3, "25: the balance of 'C2:Cash' is asserted to be 18.00 USD but is 8.00; see {}:8, which is rejected "
              "and has this account"),
         (27, 3, "27: the transaction does not balance: 1 USD is left over")]  # fmt: skip


def parts_of(text):
    """The comments and the transactions of a file of rejects, without its first line."""
    check(text.startswith("; Rejected by ledgerbatch: "), text)
    return [part.split("\n", 1) for part in text.strip("\n").split("\n\n; ")[1:]]


def check_faults(binary, folder):
    case = Case(binary, folder, "faults")
    path = case.write("f.journal", FAULTS)
    printed = case.run(path.name, cwd=case.folder).stdout.decode()
    check("2 transactions of 3 clients; rejected: 7 transactions, see " in printed, printed)
    lines = FAULTS.split("\n")
    parts = parts_of(case.rejects.read_text())
    check(len(parts) == len(WORDS), f"{parts}")
    for (begin, count, words), (comment, entry) in zip(WORDS, parts):
        check(comment == f"f.journal:{words.format('f.journal')}", f"{comment}, not {words}")
        check(entry.split("\n") == lines[begin - 1 : begin - 1 + count], f"all lines of {begin}: {entry}")
    case.check_without(path, {n for begin, count, _ in WORDS for n in range(begin, begin + count)})
    with open(case.folder / "db-out/totals.csv", newline="", encoding="utf-8") as source:
        rows = [row for row in csv.reader(source) if row[0] == "rejected"]
    check(rows == [["rejected", "", "7", "", "", ""], ["rejected", "EUR", "1", "2", "0", "2"],
                   ["rejected", "USD", "4", "17.12345", "-15.00000", "2.12345"], ["rejected", "XYZ", "1", "5", "0", "5"]],
          f"only known amounts count: {rows}")  # fmt: skip
    for text in (printed, case.command("status").stdout.decode()):
        check("rejected: 7 transactions\nEUR\n" in text and re.search("rejected +4 +17.12345 +-15.00000", text), text)
    status = case.command("status").stdout.decode()
    check("rejected: 2024-01-06 wrong, line 18: the balance of 'C2:Cash'" in status, status)
    check("C9" not in case.command("balances").stdout.decode(), "what is rejected makes no client")
    case.command("verify")


def check_pinned(binary, folder):
    """The same command is the same batch; the file is written once, and replaces nothing."""
    case = Case(binary, folder, "pinned")
    path = case.write("f.journal", FAULTS)
    case.rejects.write_text("somebody else's\n")
    message = case.run(path, expect=2).stderr.decode()
    check("is there already, and is not what --rejects would write" in message, message)
    check(case.rejects.read_text() == "somebody else's\n" and not case.has_batch(), "nothing is written")
    case.rejects.unlink()
    case.rejects.mkdir()
    case.run(path, expect=2)
    case.rejects.rmdir()
    nowhere = case.command("run", "--rejects", case.folder / "no/where", path, expect=1).stderr.decode()
    check("No such file" in nowhere and not case.has_batch(), nowhere)
    case.run(path)
    written = case.rejects.read_bytes()
    before = books.fingerprint(case.folder / "db", case.folder / "db-out")
    check("is finished" in case.run(path).stdout.decode(), "the same command")
    case.rejects.write_text("corrected\n")
    check("is finished" in case.run(path).stdout.decode(), "a correction in place does no harm")
    check(case.rejects.read_text() == "corrected\n", "it stays")
    case.command("run", path, expect=2)
    check(before == books.fingerprint(case.folder / "db", case.folder / "db-out"), "nothing has changed")
    other = case.write("g.journal", FAULTS.replace("5 USD", "4 USD"))
    case.command("run", "--rejects", case.folder / "more", other, expect=4)
    check(not (case.folder / "more").exists(), "nothing is written for another batch")
    case.command("run", "--rejects", case.folder / "again", path, database="second")
    check((case.folder / "again").read_bytes() == written, "always the same file")
    check(sorted(p.name for p in case.folder.iterdir() if "new" in p.name) == [], "nothing is left over")
    # Without a fault, the option changes nothing.
    good = case.write("good.journal", "2024-01-05 good\n  C1:Cash  1 USD\n  Bank\n")
    case.command("run", "--rejects", case.folder / "none", good, database="third")
    check(not (case.folder / "none").exists(), "no file without rejects")
    check("is finished" in case.command("run", good, database="third").stdout.decode(), "and the same batch without it")
    printed = case.command("check", "--rejects", case.folder / "check", path, database="fourth").stdout.decode()
    check("rejected: 2024-01-06 wrong, line 18: " in printed and not (case.folder / "check").exists(), printed)
    with open(path, "rb") as source:
        case.command("run", "--rejects", case.folder / "stdin", "-", database="fifth", stdin=source)
    check((case.folder / "stdin").read_bytes().replace(b"; -:", b"; " + bytes(path) + b":").replace(
        b"see -:", b"see " + bytes(path) + b":") == written, "standard input")


STOPS = (("nonsense a=b\n", "'nonsense' is not"), ("include nowhere.journal\n", "No such file"),
         ("  A  1 USD\n", "an indented line belongs to no transaction"),
         ("include self.journal\n", "No such file"), ("account A  ; group:a/b\n", "cannot be a group's name"))  # fmt: skip


def check_stops(binary, folder):
    """Faults that make the rest unreliable stop the program; so do too many."""
    case = Case(binary, folder, "stops")
    for text, words in STOPS:
        path = case.write("f.journal", FAULTS + "\n\n" + text)
        message = case.run(path, expect=2).stderr.decode()
        check(message.startswith(f"{path}:") and words in message, f"{text}: {message}")
        check(message.count("\n") == 1, f"only what stops the program: {message}")
    path = case.write("f.journal", FAULTS)
    message = case.run("--max-rejects", "6", path, expect=2).stderr.decode()
    check("more than 6 transactions are rejected (--max-rejects), 7 of them above; nothing was written" in message, message)
    case.run("--max-rejects", "7", path)
    many = case.write("many.journal", "2024-01-01 x\n" * 101)
    message = case.command("run", "--rejects", case.folder / "m", many, expect=2, database="many").stderr.decode()
    check(message.count("\n") == 21 and "more than 100 transactions are rejected" in message, message)
    for words, message in ((["--max-rejects", "5"], "--max-rejects is about --rejects"), (["--rejects", "-"], "takes the name"),
                           (["--rejects", "x", "--max-rejects", "y"], "not a number")):  # fmt: skip
        found = case.command("run", *words, path, expect=2).stderr.decode()
        check(message in found, found)
    path = case.write("f.journal", "2024-13-01 x\n  A  1 USD\n  B\n")
    message = case.command("run", "--rejects", case.folder / "n", path, expect=2, database="none").stderr.decode()
    check("the input has no transactions" in message and not (case.folder / "n").exists(), message)


TRANSFERS = HEADER + """\
1,2024-01-05,C1:Cash,C2:Cash,5,USD
2,2024-01-35,C1:Cash,C2:Cash,6,USD
900,2024-01-05,C1:Cash,C2:Cash,1;5,USD
3,2024-01-05,"C1:Cash","C""2"":Cash",15,USD
4,2024-01-05,C1:Cash,=1+1,15
5,2024-01-05,C1:Cash,"C2
:Cash",7,USD
5,2024-01-05,C1:Cash,C2:Cash x",7,USD
6,2024-01-06,C1:Cash,C2:Cash,-15,USD
7,2024-01-06,C2:Cash,C1:Cash,2,USD
"""
REJECTED = [(3, "3: there is no such day: '2024-01-35'"), (4, "4: the amount '1;5' is not a number"), (6, "6: 5 fields"),
            (7, "7: a name has no control characters"), (9, "9: a quote inside a field"), (10, "10: an amount is positive")]  # fmt: skip


def check_transfers(binary, folder):
    """Rejected transfers can be given back, too; no spreadsheet runs a cell of the file."""
    case = Case(binary, folder, "transfers")
    path = case.write("t.csv", TRANSFERS)
    case.run("--csv", path.name, cwd=case.folder)
    with open(case.rejects, newline="", encoding="utf-8") as source:
        text = source.read()
    check(text.startswith(HEADER), text)
    rows = list(csv.reader(text.splitlines(keepends=True)))[1:]
    comments = [row[0] for row in rows if len(row) == 1]
    check('"# 4,2024-01-05,C1:Cash,=1+1,15\n"\n' in text or "# 4,2024-01-05" in text, text)
    check(sum(comment.startswith("# t.csv:") for comment in comments) == len(REJECTED), f"{comments}")
    for (_, words), comment in zip(REJECTED, [c for c in comments if c.startswith("# t.csv:")]):
        check(comment.startswith(f"# t.csv:{words}") or words.startswith("7"), f"{comment}, not {words}")
    check(not any(cell[:1] in "=+@" and cell for row in rows for cell in row), f"{rows}")
    check("900,2024-01-05,C1:Cash,C2:Cash,1;5,USD\n" in text and '"C2\n:Cash",7,USD\n' in text, text)
    balances = case.command("balances").stdout.decode()
    check(balances == 'account,commodity,amount\n"C""2"":Cash",USD,15\nC1:Cash,USD,-18\nC2:Cash,USD,3\n', balances)
    # The file is read again as it is: all of it is rejected once more, but for what is corrected.
    back = case.write("back.csv", text.replace("2024-01-35", "2024-01-31"))
    case.command("day", "--date", "2024-01-31", "--csv", "--rejects", case.folder / "more", back)
    balances = case.command("balances").stdout.decode()
    check("C2:Cash,USD,9\n" in balances, balances)
    cut = case.write("cut.csv", TRANSFERS + '8,2024-01-05,"C1:Cash,C2:Cash,5,USD\n9,2024-01-05,A,B,5,USD\n')
    message = case.command("run", "--csv", "--rejects", case.folder / "cut", cut, expect=2, database="cut").stderr.decode()
    check(message == f"{cut}:12: a quoted field is not closed\n", message)
    head = case.write("head.csv", TRANSFERS[1:])
    message = case.command("run", "--csv", "--rejects", case.folder / "cut", head, expect=2, database="cut").stderr.decode()
    check("the header line is seq,date,from" in message, message)


def check_days(binary, folder):
    """A day takes the corrected transactions of the day before, with a date of its own."""
    case = Case(binary, folder, "days")
    first = case.write("1.journal", "2024-01-05 good\n  C1:Cash  1.00 USD = 1.00 USD\n  Bank\n"
                                    "2024-01-05 bad\n  C1:Cash  2 USD\n  Bank  -1 USD\n")  # fmt: skip
    case.command("day", "--date", "2024-01-05", "--rejects", case.folder / "r1", first)
    late = case.write("2.journal", "2024-01-05 closed\n  C1:Cash  1.00 USD\n  Bank\n"
                                   "2024-01-07 too early\n  C1:Cash  1.00 USD\n  Bank  -1.00 USD\n"
                                   "2024-01-06 good\n  C1:Cash  4.00 USD = 5.00 USD\n  Bank\n")  # fmt: skip
    again = (case.folder / "r1").read_text().replace("2024-01-05", "2024-01-06").replace("-1 USD", "-2 USD")
    corrected = case.write("corrected.journal", again)
    case.command("day", "--date", "2024-01-06", "--rejects", case.folder / "r2", late, corrected)
    check("C1:Cash,USD,7.00\n" in case.command("balances").stdout.decode(), "both are posted")
    comments = [comment for comment, _ in parts_of((case.folder / "r2").read_text())]
    check(comments == [f"{late}:1: the day 2024-01-05 is closed already; --backdated reopens a month", f"{late}:4: the date is after the day, 2024-01-06"],
          f"{comments}")  # fmt: skip
    case.command("day", "--date", "2024-01-06", "--rejects", case.folder / "r2", late, corrected)
    message = case.command("day", "--date", "2024-01-07", "--rejects", case.folder / "r3", late, expect=2).stderr.decode()
    check("was posted already, on the day 2024-01-06" in message, message)
    # A commodity gets no more decimals by what is rejected.
    finer = case.write("3.journal", "2024-01-07 bad\n  C1:Cash  1.12345 USD\n  Bank  1 USD\n")
    case.command("day", "--date", "2024-01-07", "--rejects", case.folder / "r3", finer)
    # What is deferred and posted again is no input of the day: its faults are not its rejects.
    case.command("verify")


def damage(chance, block):
    """A transaction with a fault, and the number of the faulty ways."""
    lines = block.split("\n")
    way = chance.randrange(5)
    if way == 0:
        lines[0] = lines[0].replace("20", "2O", 1)
    elif way == 1:
        lines.append("    C000001:Checking  1.00 EUR")
        lines.append("    C000002:Checking  2.00 EUR")
    elif way == 2:
        at = chance.randrange(1, len(lines))
        lines[at] = lines[at].replace(" USD", " USD  1,5 D") if " USD" in lines[at] else lines[at] + "  x"
    elif way == 3:
        lines.append("    C000001:Checking  0.00 USD = 12345678.90 USD")
    else:
        lines = lines[:1]
    return "\n".join(lines)


def check_random(binary, folder, options, chance):
    """A large book with damages: without them, with any number of workers, and over kills."""
    case = Case(binary, folder, "random")
    whole = books.run(binary, "generate", "smallbank", "--customers", 60, "--transactions", options.transactions,
                      "--months", 2, "--seed", chance.randrange(1000)).stdout.decode()  # fmt: skip
    blocks = whole.rstrip("\n").split("\n\n")
    dated = [n for n, block in enumerate(blocks) if re.match(r"\d{4}-", block)]
    lines = set()
    for n in chance.sample(dated, options.damages):
        blocks[n] = damage(chance, blocks[n])
    line = 1
    for block in blocks:
        size = block.count("\n") + 1
        wrong = any(mark in block for mark in ("2O", "EUR", "1,5 D", "  x", "12345678.90")) or "\n" not in block
        if re.match(r"\dO?", block) and wrong:
            lines |= set(range(line, line + size))
        line += size + 1
    path = case.write("b.journal", "\n\n".join(blocks) + "\n")
    words = [*RULES, "b.journal"]
    results = []
    for workers in (1, 2, 8):
        books.run("rm", "-rf", case.rejects, *case.folder.glob("db*"))
        case.run("--workers", workers, *words, cwd=case.folder)
        results.append((books.fingerprint(case.folder / "db", case.folder / "db-out"), case.rejects.read_bytes()))
    check(results[0] == results[1] == results[2], "the same with any number of workers")
    case.check_without(path, lines, *RULES)
    kills = 0
    for _ in range(options.kills * 3):
        books.run("rm", "-rf", case.rejects, *case.folder.glob("db*"))
        process = subprocess.Popen([str(word) for word in case.words("run", "--rejects", case.rejects, "--commit-size", 5,
                                                                     *words)], cwd=case.folder,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(chance.uniform(0, 0.15))
        process.kill()
        kills += process.wait() == -9
        if case.rejects.exists():
            check(case.rejects.read_bytes() == results[0][1], "the file is whole, or not there")
        else:
            check(not (case.folder / "db").exists() or case.command("status", expect=None).returncode != 0
                  or "tasks: 0 " in case.command("status").stdout.decode(), "the file is there before the batch")  # fmt: skip
        case.run(*words, cwd=case.folder)
        found = (books.fingerprint(case.folder / "db", case.folder / "db-out"), case.rejects.read_bytes())
        check(found == results[0], "after a kill")
        if kills == options.kills:
            break
    totals = (case.folder / "db-out/totals.csv").read_text()
    check(f"rejected,,{options.damages},,,\n" in totals, totals)
    check(Decimal(re.search(r"rejected,EUR,(\d+)", totals)[1]) > 0, totals)
    return kills


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", type=int, default=1500)
    parser.add_argument("--damages", type=int, default=30)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        for test in (check_faults, check_pinned, check_stops, check_transfers, check_days):
            test(binary, folder)
        kills = check_random(binary, folder, options, random.Random(options.seed))
        print(f"{options.damages} damages, {kills} kills")


if __name__ == "__main__":
    main()
