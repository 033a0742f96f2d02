#!/usr/bin/env python3
"""Processes that run one batch together, in PostgreSQL: database and outputs are, byte by byte, those
of one worker with SQLite. So they are if processes are killed or come late, and if the server crashes.

usage: machines.py LEDGERBATCH
"""
import contextlib
import random
import re
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import books
import pg_server
import step_objects

WAITING_SECONDS = 100  # only guards against waiting for ever
CLIENTS, GROUPS = 40, 5
RULES = """
commutative: 'House:*'
no-overdraft: '*:Checking'
month-end:
  - statement
  - step: fees
    accounts: '*:Checking'
    fee-per-posting: 0.05 EUR
    house: House:Fees
  - step: accrual
    accounts: '*:Savings'
    balances: daily
    days: actual
    rate: 0.03
    house: House:Interest
  - trial-balance
"""
STEPS = 3


FAILING = """
2024-01-01 x
    A:Cash  900000000000000000 X
    C:Cash

2024-01-02 refused
    A:Cash  -500000000000000000 X
    B:Guarded  -1 X
    C:Cash

2024-01-03 fails
    A:Cash  500000000000000000 X
    D:Cash

2024-01-04 is held
    A:Cash  -1 X
    D:Cash
"""


def journal(transactions, seed):
    """Deposits, withdrawals and transfers of clients in groups, some of which are refused; and transfers
    of the house."""
    chance = random.Random(seed)
    lines = [f"account C{i:02}  ; group:G{i % GROUPS}" for i in range(CLIENTS)]
    for number in range(transactions):
        client, other = chance.sample(range(CLIENTS), 2)
        if chance.random() < 0.2:
            target = f"C{other:02}:Savings"
        else:
            target = "House:Cash"
        amount = chance.randint(-9000, 12000)
        account = "House:Vault" if chance.random() < 0.02 else f"C{client:02}:Checking"
        lines += [f"\n2024-{1 + number * 3 // transactions:02}-{1 + chance.randrange(28):02} * ({number}) x",
                  f"    {account}  {amount / 100:.2f} EUR", f"    {target}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def wait_until(condition, what):
    end = time.monotonic() + WAITING_SECONDS
    while not condition():
        books.check(time.monotonic() < end, f"waited in vain: {what}")
        time.sleep(0.01)


class Machines:
    def __init__(self, binary, folder, server):
        self.binary, self.folder, self.server = binary, folder, server
        self.processes = []
        rules = folder / "rules.yaml"
        rules.write_text(RULES, encoding="utf-8")
        self.rules = ("--end-month", "--rules", rules)
        self.use(2000)

    def use(self, transactions):
        """Takes another input, and runs it with one worker and SQLite."""
        self.input = self.folder / f"{transactions}.journal"
        self.input.write_text(journal(transactions, transactions), encoding="utf-8")
        self.tasks = transactions + 3 * GROUPS * STEPS
        reference = self.folder / f"reference{transactions}"
        output = books.run(self.binary, "run", "--workers", "1", "--db", f"{reference}.db", "--out", reference,
                           *self.rules, self.input).stdout  # fmt: skip
        self.wanted = books.fingerprint(f"{reference}.db", reference)
        self.head = output.decode().split()[-1]

    def command(self, number, *options):
        place = self.folder / f"machine{number}"
        return [str(word) for word in (
            self.binary, "run", "--store", self.server.uri, "--workers", "2", "--db", f"{place}.db", "--out", place,
            *self.rules, *options, self.input)]  # fmt: skip

    def start(self, number, *options):
        process = subprocess.Popen(self.command(number, *options), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.processes.append(process)
        return process

    def clear(self):
        for process in self.processes:
            process.kill()
            process.communicate()
        self.processes = []
        books.run("rm", "-rf", *self.folder.glob("machine*"))
        self.server.ask("SET client_min_messages = error; DROP SCHEMA IF EXISTS ledgerbatch CASCADE;"
                        "DROP SCHEMA IF EXISTS lanepool_ledgerbatch CASCADE")  # fmt: skip

    def effects(self):
        return int(self.server.ask("SELECT count(*) FROM lanepool_ledgerbatch.effect", "0"))

    def owners(self):
        return int(self.server.ask("SELECT count(DISTINCT owner) FROM lanepool_ledgerbatch.shard", "0"))

    def wait_for_effects(self, part):
        wait_until(lambda: self.effects() > self.tasks * part, f"{part} of the tasks")

    def publishers(self):
        return [path for path in self.folder.glob("machine*.db")]

    def finish(self, what, *killed):
        """Waits for the processes. One has published; all have said so."""
        for process in self.processes:
            output, message = process.communicate(timeout=WAITING_SECONDS)
            if process in killed:
                continue
            books.check(process.returncode == 0, f"{what}: exit {process.returncode}: {message.decode()}")
            books.check(self.head in output.decode(), f"{what}: {output.decode()}")
        databases = self.publishers()
        books.check(len(databases) == 1, f"{what}: {len(databases)} processes have published")
        outputs = databases[0].with_suffix("")
        books.check_same(books.fingerprint(databases[0], outputs), self.wanted, what)
        print(what, flush=True)


def check_numbers(machines):
    for count in (1, 2, 3):
        machines.clear()
        for number in range(count):
            machines.start(number)
        machines.finish(f"{count} processes")


def check_restart(machines):
    """The same command once more finds that all is done."""
    process = machines.start(9, "--join")
    output = process.communicate(timeout=WAITING_SECONDS)[0].decode()
    books.check(process.returncode == 0 and "published by" in output and machines.head in output, output)
    books.check(len(machines.publishers()) == 1, "nothing is published twice")


def check_kill(machines):
    machines.clear()
    processes = [machines.start(number, "--task-wait-us", "2000") for number in range(3)]
    machines.wait_for_effects(0.2)
    processes[0].kill()
    machines.finish("a killed process", processes[0])


def status(machines, *more):
    return books.run(machines.binary, "status", "--store", machines.server.uri, *more).stdout.decode()


def check_status(machines):
    machines.clear()
    processes = [machines.start(number, "--task-wait-us", "2000") for number in range(2)]
    machines.wait_for_effects(0)
    shown = re.compile(r"2 processes work on 64 of 64 shards\n(  .*:\d+: \d+ shards?, .*\n){2}")
    wait_until(lambda: shown.search(status(machines)) or machines.publishers(), "a status of two processes")
    books.check(f" of {machines.tasks} tasks are done" in status(machines), status(machines))
    reason = status(machines, "--task", machines.tasks)
    books.check(re.search(rf"Task {machines.tasks} (is not done. It needs|is done|does not exist)", reason), reason)
    machines.finish("a batch that is looked at")
    books.check("Task 1 is done." in status(machines, "--task", 1), "the first task is not done")
    last = status(machines)
    pids = [process.pid for process in processes]
    books.check(f"{machines.tasks} of {machines.tasks} tasks are done\n" in last, last)
    books.check(any(f":{pid}\n" in last for pid in pids) and f"head {machines.head}\n" in last, last)


def check_late(machines):
    machines.clear()
    machines.start(0, "--task-wait-us", "2000")
    machines.wait_for_effects(0.2)
    machines.start(1, "--join", "--task-wait-us", "2000")
    wait_until(lambda: machines.owners() == 2 or machines.publishers(), "both have shards")
    machines.finish("a process that joins late")


def check_crash(machines):
    machines.clear()
    for number in range(2):
        machines.start(number, "--task-wait-us", "2000")
    machines.wait_for_effects(0.2)
    machines.server.order("crash")
    machines.server.order("start")
    machines.finish("a crash of the server")


def check_stop(machines):
    """SIGTERM: the process leaves, and the others end the batch."""
    machines.clear()
    processes = [machines.start(number, "--task-wait-us", "8000") for number in range(2)]
    machines.wait_for_effects(0.05)
    processes[0].send_signal(signal.SIGTERM)
    message = processes[0].communicate(timeout=WAITING_SECONDS)[1].decode()
    books.check(processes[0].returncode == 7 and "run the same command again" in message, message)
    machines.finish("a process that is stopped", processes[0])


def check_pause(machines):
    """A process is stopped until another one has its work: what it has done meanwhile does not count."""
    machines.clear()
    processes = [machines.start(number, "--task-wait-us", "2000") for number in range(2)]
    wait_until(lambda: machines.owners() == 2 or machines.publishers(), "both have shards")
    processes[0].send_signal(signal.SIGSTOP)
    wait_until(lambda: machines.owners() == 1 or machines.publishers(), "one process has all shards")
    processes[0].send_signal(signal.SIGCONT)
    machines.finish("a process that is stopped for a while")


def check_kill_of_publisher(machines):
    """The database of a publisher that was killed is of no use elsewhere: another one publishes anew."""
    machines.clear()
    processes = [machines.start(number, "--commit-size", "1") for number in range(2)]
    wait_until(machines.publishers, "a database")
    first = machines.publishers()[0]
    publisher = processes[int(first.stem[-1])]
    publisher.kill()
    publisher.communicate()
    if publisher.returncode == -signal.SIGKILL:
        processes[1 - int(first.stem[-1])].wait(timeout=WAITING_SECONDS)
        books.run("rm", "-rf", first, f"{first}-wal", f"{first}-shm", first.with_suffix(""))
    machines.finish("a publisher that is killed", publisher)
    machines.clear()
    process = machines.start(0, "--commit-size", "1")
    wait_until(machines.publishers, "a database")
    process.kill()
    process.communicate()
    machines.start(0)
    machines.finish("a publication that is resumed", process)


def check_appended_twice(machines):
    """A process is killed between an append and its record: the next one appends these tasks again."""
    machines.clear()
    machines.use(6000)
    server = machines.server
    lock = server.session("SELECT pg_advisory_lock(hashtext('ledgerbatch'), 1)")
    process = machines.start(0)
    wait_until(lambda: server.ask("SELECT count(*) FROM ledgerbatch.batch", "0") == "1", "a record")
    record = server.session("BEGIN", "LOCK TABLE ledgerbatch.batch IN SHARE MODE")
    lock.communicate("")
    wait_until(lambda: server.ask("SELECT count(*) FROM pg_stat_activity WHERE query LIKE "
               "'UPDATE ledgerbatch.batch%' AND wait_event_type = 'Lock'") == "1", "an update that waits")  # fmt: skip
    process.kill()
    process.wait()
    server.ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'UPDATE ledgerbatch.batch%'")
    record.communicate("")
    machines.start(1)
    machines.start(2)
    machines.finish("tasks that are appended twice", process)
    appended = int(server.ask("SELECT appended FROM lanepool_ledgerbatch.batch"))
    books.check(appended == machines.tasks + 4096, f"{appended} tasks were appended")
    machines.use(2000)


def check_failure(machines):
    """A refusal lets a balance grow to too many digits: one machine goes on from there, and holds the
    client."""
    machines.clear()
    machines.input = machines.folder / "failing.journal"
    machines.input.write_text(FAILING, encoding="utf-8")

    def run(number, expect, *options):
        place = machines.folder / f"machine{number}"
        message = books.run(machines.binary, "run", *options, "--db", f"{place}.db", "--out", place,
                            "--no-overdraft", "B:Guarded", machines.input, expect=expect).stderr.decode()  # fmt: skip
        return message, books.run("sqlite3", f"{place}.db", ".dump").stdout

    message, _ = run(0, 3, "--store", machines.server.uri)
    books.check("task 3 fails: the balance of A:Cash has too many digits" in message, message)
    message, dump = run(0, 3)
    books.check("2 of 4 tasks are held" in message, message)
    books.check(dump == run(1, 3)[1], "the database differs from that of one machine")
    machines.use(2000)
    print("a task that fails", flush=True)


def check_refusals(machines):
    machines.clear()
    refused = (("--fail-on", "C01*"), ("--on-failure", "defer"), ("--on-quarantine", "hold"), ("--live",),
               ("--trace", machines.folder / "trace"))  # fmt: skip
    for words in refused:
        message = books.run(*machines.command(0, *words), expect=2).stderr.decode()
        books.check(f"{words[0]}" in message and "not offered with --store" in message, message)
    step = step_objects.build(machines.folder, "tithe")
    message = books.run(machines.binary, "run", "--store", machines.server.uri, "--monthly", f"step={step}",
                        "--end-month", machines.input, expect=2).stderr.decode()  # fmt: skip
    books.check("step=PATH" in message and "not offered with --store" in message, message)
    for command in (machines.command(0, "--join"), (machines.binary, "status", "--store", machines.server.uri)):
        message = books.run(*command, expect=2).stderr.decode()
        books.check("the store has no batch" in message, message)
    stored = machines.server.ask("SELECT count(*) FROM pg_namespace WHERE nspname LIKE '%ledgerbatch'")
    books.check(stored == "0", "nothing is stored")
    for command in ("check", "plan", "day", "retry"):
        words = {"day": ("--date", "2024-05-01"), "retry": ("--all",)}.get(command, ())
        message = books.run(machines.binary, command, *words, "--store", machines.server.uri, machines.input,
                            expect=2).stderr.decode()  # fmt: skip
        books.check("--store is for the command run only" in message, message)
    books.check(not machines.publishers(), "there is no database")
    for words, wanted in ((("--join",), "--join is about --store"), (("--store", "books"), "postgresql://")):
        message = books.run(machines.binary, "run", *words, machines.input, expect=2).stderr.decode()
        books.check(wanted in message, message)
    message = books.run(machines.binary, "run", "--store", "postgresql://localhost:1/books", machines.input,
                        expect=1).stderr.decode()  # fmt: skip
    books.check("the store: " in message, message)
    print("refusals", flush=True)


def check_other_input(machines):
    machines.clear()
    machines.start(0)
    machines.finish("the first input")
    for other in (("--join",), ()):
        command = [word for word in machines.command(1, *other) if word != "--end-month"]
        message = books.run(*command, expect=4).stderr.decode()
        books.check("other input or rules" in message, message)
    print("other input", flush=True)


def skip_without_store(binary, uri):
    message = books.run(binary, "status", "--store", uri, expect=2).stderr.decode()
    if "built without libpq" in message:
        print("skipped: ledgerbatch was built without libpq")
        raise SystemExit(books.SKIPPED)


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path, pg_server.Server() as server:
        skip_without_store(binary, server.uri)
        machines = Machines(binary, Path(path), server)
        with contextlib.ExitStack() as stack:
            stack.callback(machines.clear)
            check_numbers(machines)
            check_restart(machines)
            check_kill(machines)
            check_status(machines)
            check_late(machines)
            check_crash(machines)
            check_stop(machines)
            check_pause(machines)
            check_kill_of_publisher(machines)
            check_appended_twice(machines)
            check_failure(machines)
            check_refusals(machines)
            check_other_input(machines)


if __name__ == "__main__":
    main()
