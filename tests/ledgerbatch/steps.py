#!/usr/bin/env python3
"""Month-end steps of the user's: shared objects that are checked, pinned, run as cuts or blocking
rollups, checked in what they post, and named when they fail or crash.

usage: steps.py LEDGERBATCH
"""
import os
import re
import shutil
import signal
import tempfile
from pathlib import Path

import books
import step_objects
from books import check

RULES = ["--commutative", "Bank:*"]
# Sanitizers handle crashes themselves, unless told otherwise.
UNHANDLED = "handle_segv=0:handle_abort=0:use_sigaltstack=0"
CRASHING = {**os.environ, **{name: f"{os.environ.get(name, '')}:{UNHANDLED}".lstrip(":")
                             for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS")}}  # fmt: skip
JOURNAL = """\
account C1:Cash  ; group:one
account C2:Cash  ; group:one
account C3:Cash  ; group:one
account D1:Cash  ; group:two
2024-01-05 In
  C1:Cash  1000.00 USD
  C2:Cash  2000.00 USD
  C3:Cash  333.33 USD
  D1:Cash  70.00 USD
  Bank:Vault
2024-01-31 Move
  C2:Savings  500.00 USD
  C2:Cash
2024-02-02 On
  C1:Cash  -10.00 USD
  C2:Cash  10.00 USD
2024-02-29 End
  D1:Cash  1.00 USD
  C3:Cash
"""


class Books:
    """A folder with a journal, and runs of it."""

    def __init__(self, binary, folder, text=JOURNAL):
        self.binary, self.folder = binary, folder
        self.journal = folder / "j.journal"
        self.journal.write_text(text)
        self.database, self.outputs = folder / "s.db", folder / "out"

    def clear(self):
        for path in self.folder.glob("s.db*"):
            path.unlink()
        shutil.rmtree(self.outputs, ignore_errors=True)

    def run(self, monthly, *options, command="run", expect=0, **more):
        return books.run(self.binary, command, "--db", self.database, "--out", self.outputs, *RULES,
                         "--monthly", monthly, *options, self.journal, expect=expect, cwd=self.folder, **more)  # fmt: skip

    def query(self, text):
        return books.run("sqlite3", self.database, text).stdout.decode().split("\n")[:-1]


def check_refused(binary, folder):
    """Objects that are refused before they are loaded, and those that are no steps."""
    batch = Books(binary, folder)
    good = step_objects.build(folder, "tithe")
    other = folder / "open"
    other.mkdir(mode=0o700)
    shutil.copy(good, other / "in_open.so")
    os.mkfifo(folder / "pipe.so", 0o700)
    (folder / "empty.so").write_bytes(b"")
    (folder / "text.so").write_text("no object\n")
    for name, mode in (("group.so", 0o770), ("all.so", 0o707)):
        shutil.copy(good, folder / name)
        (folder / name).chmod(mode)
    other.chmod(0o777)
    os.symlink(other / "in_open.so", folder / "link.so")
    step_objects.build(folder, "wrong", "newer", "WRONG=0", "ABI=2u")
    no_symbol = folder / "bare.c"
    no_symbol.write_text("int nothing;\n")
    step_objects.compile_step(no_symbol, folder / "bare.so")
    for name, message in (
        ("missing.so", "No such file or directory"),
        ("pipe.so", "is no regular file"),
        ("empty.so", "is empty or larger than 64 MiB"),
        ("text.so", "cannot be loaded: "),
        ("group.so", "it can be written by its group; take that away with chmod go-w"),
        ("all.so", "it can be written by everybody; take that away with chmod go-w"),
        ("open/in_open.so", "its folder can be written by everybody"),
        ("link.so", "its folder can be written by everybody"),
        ("newer.so", "was built for the interface 2, and this ledgerbatch has 1"),
        ("bare.so", "has no symbol ledgerbatch_step"),
    ):
        said = batch.run(f"step={folder / name}", expect=2).stderr.decode()
        check(said.startswith(f"ledgerbatch: the step {folder / name}: ") and message in said, f"{name}: {said}")
        check(not batch.database.exists(), f"{name}: a database was made")
    if os.geteuid() == 0:
        os.chown(folder / "group.so", 12345, 0)
        (folder / "group.so").chmod(0o755)
        said = batch.run(f"step={folder / 'group.so'}", expect=2).stderr.decode()
        check("it belongs to the user 12345, not to you or to root" in said, said)
    print("unsafe objects, and those that are no steps, are refused by name")


def check_whole(binary, folder):
    """What a step posts and reports, as a cut and as a blocking rollup; any number of workers."""
    batch = Books(binary, folder)
    for name, defines in (("tithe", ()), ("level", ("BLOCKING",))):
        path = step_objects.build(folder, "tithe", name, *defines)
        wanted = None
        for workers in (1, 2, 8):
            batch.clear()
            batch.run(f"statement,step={path},close", "--workers", workers)
            found = books.fingerprint(batch.database, batch.outputs)
            books.check_same(found, wanted or found, f"{name} with {workers} workers")
            wanted = found
        report = (batch.outputs / f"steps/{name}/2024-01-one.csv").read_text()
        check(report == "C1,10.00\nC2,20.00\nC3,3.33\nall,33.33\n", report)
        balances = books.our_balances(batch.outputs / "balances.csv")
        aside = {account[:2]: str(amount) for (account, _), amount in balances.items() if "Aside" in account}
        # January: 10.00, 20.00, 3.33; February: 1% of 980.00, of 1495.00 and 495.00, of 329.00 less the
        # transfer; a blocking group moves 0.01 of C2 and of C3 to C1 in each month.
        check(aside == ({"C1": "19.80", "C2": "39.90", "C3": "6.62", "D1": "1.40"} if name == "tithe" else
                        {"C1": "19.84", "C2": "39.88", "C3": "6.60", "D1": "1.40"}), aside)  # fmt: skip
        check(batch.query("SELECT count(*) FROM contributions") == ["0"], "contributions are left")
        verified = books.run(binary, "verify", "--db", batch.database, "--out", batch.outputs).stdout.decode()
        check("all sums tie" in verified, verified)
        books.compare_with_both(None, batch.outputs)
    print("a cut and a blocking step post the same with 1, 2 and 8 workers; ledger and hledger agree")


def check_days(binary, folder):
    """Days one by one have the balances and reports of one run."""
    path = step_objects.build(folder, "tithe")
    batch = Books(binary, folder)
    batch.run(f"step={path}")
    wanted = books.our_balances(batch.outputs / "balances.csv")
    reports = {file.name: file.read_bytes() for file in (batch.outputs / "steps/tithe").iterdir()}
    batch.clear()
    head, tail = JOURNAL[: JOURNAL.index("2024-01-05")], JOURNAL[JOURNAL.index("2024-01-05") :].split("\n2024")
    found = {}
    for date, text in zip(("2024-01-30", "2024-01-31", "2024-02-28", "2024-02-29"),
                          (head + tail[0], "2024" + tail[1], "2024" + tail[2], "2024" + tail[3])):  # fmt: skip
        batch.journal.write_text(text + "\n")
        batch.run(f"step={path}", "--date", date, command="day")
        for file in batch.outputs.glob(f"{date}/steps/tithe/*"):
            found[file.name] = file.read_bytes()
    check(books.our_balances(batch.outputs / "2024-02-29/balances.csv") == wanted, "the days' balances differ")
    # The groups are declared with the first day's clients; later clients of a group would come later.
    check(found == reports, f"the days' reports differ: {sorted(found)} {sorted(reports)}")
    print("days one by one have the balances and reports of one run")


def check_pinned(binary, folder):
    """Another object under the same path ends with exit code 4; the database has its digest."""
    batch = Books(binary, folder)
    path = step_objects.build(folder, "tithe")
    batch.run(f"step={path}")
    digest = books.run("sha256sum", path).stdout.decode().split()[0]
    check(batch.query("SELECT name, digest FROM steps") == [f"tithe|{digest}"], "the stored digest")
    said = books.run(binary, "verify", "--db", batch.database).stdout.decode()
    check(f"the step tithe: SHA-256 {digest}\n" in said, said)
    step_objects.build(folder, "tithe", "tithe", "BLOCKING")
    other = books.run("sha256sum", path).stdout.decode().split()[0]
    said = batch.run(f"step={path}", expect=4).stderr.decode()
    check(f"was begun with another object of the step tithe: with that of SHA-256 {digest}, and {path} has "
          f"{other}" in said, said)  # fmt: skip
    print("another object under the same path is named, and ends with exit code 4")


def wrong(folder, number):
    return step_objects.build(folder, "wrong", f"wrong{number}", f"WRONG={number}")


def check_failures(binary, folder):
    """A step that does what it may not fails for its client; the others go on. Then it is repaired."""
    batch = Books(binary, folder)
    repaired = folder / "repaired"
    for number, reason in (
        (1, "what it posts does not balance: it adds up to 0.01 USD"),
        (2, "it posts to 'C1:Cash', which it may not: that is no account of a client that it has, and no house "
            "account of its rule"),
        (3, "it posts to 'Bank:Vault', which it may not"),
        (4, "it posts USD to 'C2:New', an account that it has not prepared"),
        (5, "a balance has too many digits"),
        (6, "C2 has no papers"),
    ):  # fmt: skip
        path = wrong(folder, number)
        repaired.write_text("")
        batch.clear()
        batch.run(f"step={path}")
        wanted = books.fingerprint(batch.database, batch.outputs)
        repaired.unlink()
        batch.clear()
        batch.run(f"step={path}", expect=3)
        held = batch.query("SELECT client, reason FROM held JOIN lanes USING(lane)")
        check(any(line.startswith(f"C2|the step wrong{number} fails for C2: {reason}") for line in held), held)
        said = books.run(binary, "status", "--db", batch.database).stdout.decode()
        check(f"the step wrong{number} fails for C2: {reason}" in said, said)
        repaired.write_text("")
        batch.run(f"step={path}", "--lane", "C2", command="retry")
        repaired.unlink()
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, f"wrong{number}, repaired")
    print("steps that post what they may not fail with their name and the reason, and can be repaired")


def check_group_failures(binary, folder):
    """A `group` that fails holds no client, and is called again."""
    batch = Books(binary, folder)
    for number, reason in ((12, "the group has no auditor"), (13, "it posts to 'C2:Cash', which it may not")):
        path = wrong(folder, number)
        batch.clear()
        batch.run(f"step={path}", expect=3)
        held = batch.query("SELECT client, reason FROM held JOIN lanes USING(lane)")
        check(len(held) == 1 and held[0].startswith(f"|the step wrong{number} fails: {reason}"), held)
        done = batch.query("SELECT count(*) FROM transactions WHERE kind = 'post'")
        check(done == ["4"], f"{done} transactions are posted")
        batch.run(f"step={path}", "--all", command="retry", expect=3)
        said = books.run(binary, "status", "--db", batch.database).stdout.decode()
        check(f"held: (house) from task 3 on: task 3 failed: the step wrong{number} fails: {reason}" in said, said)
        (folder / "repaired").write_text("")
        batch.run(f"step={path}", "--lane", "(house)", command="retry")
        found = books.fingerprint(batch.database, batch.outputs)
        batch.clear()
        batch.run(f"step={path}")
        (folder / "repaired").unlink()
        books.check_same(books.fingerprint(batch.database, batch.outputs), found, f"wrong{number}, repaired")
    said = Books(binary, folder).run(f"step={wrong(folder, 14)}", expect=2).stderr.decode()
    check("the step wrong14 fails to prepare the client 'C2': it adds 'C1:New', which is neither an account of "
          "this client nor a house account of its rule" in said, said)  # fmt: skip
    print("a group that fails holds no client, and is called again by a retry")


def check_deterministic(binary, folder):
    batch = Books(binary, folder)
    batch.clear()
    said = batch.run(f"step={wrong(folder, 7)}", command="check", expect=3)
    text = said.stdout.decode() + said.stderr.decode()
    check("3 of 8 tasks would be held" in text or "would fail" in text, text)
    batch.run(f"step={wrong(folder, 0)}", command="check")
    print("check calls each step twice, and finds one that is not deterministic")


def check_crashes(binary, folder):
    """A crash names the step, the client and the group; the same command goes on afterwards."""
    batch = Books(binary, folder)
    visit = "has crashed at its visit of the client 'C2', in the group 'one', month 2024-01, task 3"
    # The functions of two cuts may be called in any order.
    group = r"has crashed in its function for the group 'one', month (2024-01, task 3|2024-02, task 7)"
    for number, number_of_signal, where in ((8, signal.SIGSEGV, visit), (9, signal.SIGSEGV, group),
                                            (10, signal.SIGABRT, visit), (11, signal.SIGSEGV, visit)):  # fmt: skip
        path = wrong(folder, number)
        (folder / "repaired").write_text("")
        batch.clear()
        batch.run(f"step={path}")
        wanted = books.fingerprint(batch.database, batch.outputs)
        (folder / "repaired").unlink()
        batch.clear()
        said = batch.run(f"step={path}", "--commit-size", "1", expect=-number_of_signal, env=CRASHING).stderr.decode()
        message = f"ledgerbatch: the step wrong{number} {where}; the same command goes on from the last commit\n"
        check(re.search(message, said), said)
        (folder / "repaired").write_text("")
        batch.run(f"step={path}")
        (folder / "repaired").unlink()
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, f"wrong{number}, repaired")
    print("crashes name the step, the client and the group, and the same command goes on afterwards")


def check_held(binary, folder):
    """A held client: a cut visits the others and calls `group` at the end; a blocking step waits."""
    batch = Books(binary, folder)
    fails = ["--fail-on", "C2:Savings"]
    for name, defines, visited in (("tithe", (), "2"), ("level", ("BLOCKING",), "0")):
        path = step_objects.build(folder, "tithe", name, *defines)
        batch.clear()
        batch.run(f"step={path},close")
        wanted = books.fingerprint(batch.database, batch.outputs)
        for policy in ("exclude", "hold", "fail"):
            heads = set()
            for workers in (1, 2, 8):
                batch.clear()
                batch.run(f"step={path},close", *fails, "--on-quarantine", policy, "--workers", workers, expect=3)
                heads.add(books.run("sqlite3", batch.database, ".dump").stdout)
            check(len(heads) == 1, f"{name}, {policy}: what is held depends on the workers")
            if policy == "exclude":
                count = batch.query("SELECT count(*) FROM contributions WHERE seq = 3")
                check(count == [visited], f"{name}: {count} contributions are stored")
            batch.run(f"step={path},close", "--all", "--on-quarantine", policy, command="retry")
            check(batch.query("SELECT count(*) FROM contributions") == ["0"], "contributions are left")
            if policy != "fail":
                books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, f"{name}, {policy}")
    print("with a held client a cut visits the others, a blocking step waits, and a retry makes up for it")


def check_damaged(binary, folder):
    """Rows of a step that is done in part, and do not fit together, stop a retry."""
    batch = Books(binary, folder)
    step = f"step={step_objects.build(folder, 'tithe')}"
    batch.run(step, "--fail-on", "C2:Savings", expect=3)
    whole = batch.database.read_bytes()
    for damage in ("DELETE FROM contributions WHERE seq = 3 AND lane = 0",
                   "UPDATE contributions SET lane = 3 WHERE seq = 3 AND lane = 0",
                   "UPDATE contributions SET lane = 1 WHERE seq = 3 AND lane = 0",
                   "UPDATE contributions SET lane = 99 WHERE seq = 3 AND lane = 0",
                   "UPDATE contributions SET seq = 4 WHERE seq = 3 AND lane = 0",
                   "DELETE FROM missing WHERE seq = 3 AND lane = 4",
                   "DELETE FROM missing WHERE seq = 3",
                   "INSERT INTO missing VALUES(1, 4)"):  # fmt: skip
        batch.database.write_bytes(whole)
        batch.query(damage)
        said = batch.run(step, "--all", command="retry", expect=1).stderr.decode()
        check("the database is damaged: " in said, f"{damage}: {said}")
    batch.database.write_bytes(whole)
    batch.run(step, "--all", command="retry")
    print("damaged rows of a step that is done in part are found")


def check_documented(binary, folder):
    """The step of the page is compiled, and does what the page says."""
    text = (step_objects.ROOT / "docs/ledgerbatch-steps.md").read_text(encoding="utf-8")
    for suffix, kind in (("c", "c"), ("yaml", "yaml")):
        (folder / f"levy.{suffix}").write_text(re.search(rf"```{kind}\n(.*?)```", text, re.S).group(1))
    compiler = re.search(r"```sh\n(cc .*?)\n", text).group(1)
    books.run("sh", "-c", compiler.replace("demo/ledgerbatch/step", f"'{step_objects.HEADER_FOLDER}'"), cwd=folder)
    (folder / "levy.so").chmod(0o755)
    journal = folder / "books.journal"
    journal.write_text(JOURNAL)
    for command in ("check", "run"):
        books.run(binary, command, "--rules", "levy.yaml", journal, cwd=folder)
    report = (folder / "ledgerbatch-out/steps/levy/2024-01-one.csv").read_text()
    check(report == "client,levy\nC1,10.00\nC2,20.00\nC3,3.33\n", report)
    balances = books.our_balances(folder / "ledgerbatch-out/balances.csv")
    # January: 10.00 of C1, 15.00 + 5.00 of C2, 3.33 of C3, 0.70 of D1; February: 9.80, 14.95 + 4.95, 3.29, 0.70.
    check(str(balances["Bank:Levy", "USD"]) == "67.72", balances)
    books.compare_with_both(None, folder / "ledgerbatch-out")
    print("the step of the page is compiled, and does what the page says")


def check_rules(binary, folder):
    """Faults of a user's step in a rules file are listed with their lines."""
    batch = Books(binary, folder)
    path = step_objects.build(folder, "tithe")
    rules = folder / "rules.yaml"
    rules.write_text(f"""\
month-end:
  - user
  - step: user
    object: {path}
    name: a step
  - step: user
    objct: {path}
  - step: user
    object: {path}
    parameters: {{a: 1, b: 2, a: 3}}
  - step: user
    object: {path}
    parameters: text
""")
    said = books.run(binary, "run", "--rules", rules, batch.journal, cwd=folder, expect=2).stderr.decode()
    for message in (
        "rules.yaml:2: the step user needs the key 'object', such as object: /usr/lib/ledgerbatch/revaluation.so",
        "rules.yaml:5: 'a step' is no name of a step; write a key 'name' with letters, digits, '-' and '_', at most 40",
        "rules.yaml:7: 'objct' is not a key of the step user", "the nearest is 'object'",
        "rules.yaml:10: the parameter 'a' is given twice",
        "rules.yaml:11: there is a step 'tithe' in line 8; write a key 'name' with another name",
        "rules.yaml:13: write names with values here, such as currency: USD",
    ):  # fmt: skip
        check(message in said, f"{message}:\n{said}")
    rules.write_text(f"commutative: 'Bank:*'\nmonth-end:\n  - step: user\n    object: {path}\n    house: Bank:Valt\n")
    said = books.run(binary, "run", "--rules", rules, batch.journal, cwd=folder, expect=2).stderr.decode()
    check("rules.yaml:3: no account matches 'Bank:Valt'; the nearest is 'Bank:Vault'" in said, said)
    rules.write_text(rules.read_text().replace("Bank:Valt", "C1:Cash"))
    said = books.run(binary, "run", "--rules", rules, batch.journal, cwd=folder, expect=2).stderr.decode()
    check("rules.yaml:3: 'C1:Cash' matches no house account; commutative has to match it" in said, said)
    rules.write_text(f"""\
commutative: 'Bank:*'
month-end:
  - step: user
    object: {path}
    groups: two
  - step: user
    name: second
    object: {path}
""")
    books.run(binary, "run", "--rules", rules, batch.journal, cwd=folder)
    reports = sorted(str(file.relative_to(folder)) for file in folder.glob("ledgerbatch-out/steps/*/2024-01*"))
    check(reports == [f"ledgerbatch-out/steps/{name}.csv" for name in
                      ("second/2024-01-one", "second/2024-01-two", "tithe/2024-01-two")], reports)  # fmt: skip
    print("faults of a step in a rules file have their lines; two steps of one object, and groups")


def check_daily_balances(binary, folder):
    """A step's postings count for interest on daily balances from the month's last day on."""
    path = step_objects.build(folder, "tithe")
    (folder / "rules.yaml").write_text(f"""\
month-end:
  - step: user
    object: {path}
  - step: accrual
    accounts: 'C1:Savings'
    rate: 0.0365
    balances: daily
    days: 365
""")
    journal = folder / "j.journal"
    journal.write_text("2024-01-01 In\n  C1:Savings  1000.00 USD\n  C1:Equity:Capital\n"
                       "2024-01-31 End\n  C1:Cash  1.00 USD\n  C1:Equity:Capital\n")  # fmt: skip
    books.run(binary, "run", "--rules", "rules.yaml", journal, cwd=folder)
    balances = books.our_balances(folder / "ledgerbatch-out/balances.csv")
    # 30 days of 1,000.00 and one of 990.00: 30,990.00 x 0.0365 / 365 = 3.099.
    check(str(balances["C1:Savings", "USD"]) == "993.10", balances)
    print("interest on daily balances counts a step's postings from the last day on")


def check_deferring(binary, folder):
    """With --on-failure defer a step is done for all clients, those that are held too."""
    batch = Books(binary, folder)
    wanted = None
    for name, defines in (("tithe", ()), ("level", ("BLOCKING",))):
        path = step_objects.build(folder, "tithe", name, *defines)
        for workers in (1, 2, 8):
            batch.clear()
            batch.run(f"step={path}", "--on-failure", "defer", "--fail-on", "C2:Savings", "--workers", workers, expect=6)
            found = books.fingerprint(batch.database, batch.outputs)
            books.check_same(found, wanted if workers > 1 else found, f"{name}, deferred, {workers} workers")
            wanted = found
        report = (batch.outputs / f"steps/{name}/2024-01-one.csv").read_text()
        check(report == "C1,10.00\nC2,20.00\nC3,3.33\nall,33.33\n", report)
    print("with --on-failure defer a step is done for all clients")


def main():
    binary = books.program()
    books.skip_without("cc", "sqlite3", "ledger", "hledger", "sha256sum")
    for test in (check_refused, check_whole, check_days, check_pinned, check_failures, check_group_failures,
                 check_deterministic, check_crashes, check_held, check_damaged, check_documented,
                 check_rules, check_deferring, check_daily_balances):  # fmt: skip
        with tempfile.TemporaryDirectory() as path:
            test(binary, Path(path))


if __name__ == "__main__":
    main()
