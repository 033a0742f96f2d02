"""Shared by the commands of the benchmark: builds and runs programs, measures the load by others."""
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
BUILD = PROJECT / "build-bench"
CALM_SHARE = 0.1  # the share of all CPUs that others may use while the machine counts as calm


def build(directory=BUILD):
    """Configures and builds. Prints which engines are left out. Ends the program on an error."""
    for command in (
            ["cmake", "-S", str(PROJECT), "-B", str(directory), "-DCMAKE_BUILD_TYPE=Release",
             "-DLANEPOOL_BUILD_DEMO=OFF", "-DLANEPOOL_BUILD_DOCS=OFF"],
            ["cmake", "--build", str(directory), "--target", "bench", "--parallel",
             str(os.cpu_count())]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(done.stdout + done.stderr)
        for line in done.stdout.splitlines():
            if "the benchmark goes without" in line:
                print(line.removeprefix("-- lanepool: "), flush=True)


def run_program(command, limit_seconds, may_hang=False):
    """Returns the program's output. Ends this program if it fails or takes too long. If it may
    hang, returns None when it takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_seconds)
    except subprocess.TimeoutExpired:
        words = "not done after %d s: %s" % (limit_seconds, " ".join(command))
        if not may_hang:
            sys.exit(words)
        print(words, flush=True)
        return None
    if done.returncode != 0:
        sys.exit("failed: %s\n%s%s" % (" ".join(command), done.stdout, done.stderr))
    return done.stdout


def cpu_ticks():
    """Returns the busy ticks and all ticks of all CPUs since the machine started."""
    with open("/proc/stat") as stat:
        values = [int(value) for value in stat.readline().split()[1:9]]
    return sum(values) - values[3] - values[4], sum(values)


def own_ticks():
    """Returns the busy ticks of this program and of the programs that it has run."""
    usages = [resource.getrusage(who)
              for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages) * os.sysconf("SC_CLK_TCK")


class Load:
    """Measures the share of all CPUs that others use, from its creation until share() is called."""

    def __init__(self):
        self.busy, self.all = cpu_ticks()
        self.own = own_ticks()

    def share(self):
        busy, every = cpu_ticks()
        foreign = busy - self.busy - (own_ticks() - self.own)
        return min(1.0, max(0.0, foreign / max(1, every - self.all)))


def wait_for_calm(seconds_max):
    """Waits until the machine is calm, at most `seconds_max`. Returns the seconds waited."""
    begin = time.monotonic()
    while time.monotonic() - begin < seconds_max:
        load = Load()
        time.sleep(0.1)
        if load.share() <= CALM_SHARE:
            break
    return time.monotonic() - begin


def print_rows(head, rows):
    rows = [head] + rows
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    for number, row in enumerate(rows):
        cells = [row[0].ljust(widths[0])] + [c.rjust(w) for c, w in zip(row[1:], widths[1:])]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print()
