#!/usr/bin/env python3
"""laneview as a person at a terminal meets it: tmux types the keys and sees the screen.

usage: terminal.py LANEVIEW
"""
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time

import graphs
import schedule
from views import SKIPPED, Views, check

SECONDS = 60  # only guards against waiting for ever
SLOWLY = "--speed 0.02"
MODES = "stty -a | tail -n +2"  # the first line has the window's size
END = f"echo code-$?; {MODES} >after"


class Terminal:
    """A shell in a window of tmux, on a server of its own."""

    count = 0

    def __init__(self, views, width=80, height=24, environment=()):
        self.views = views
        Terminal.count += 1  # the server before may still be about to leave
        self.socket = str(views.path / f"tmux{Terminal.count}")
        known = {name: value for name, value in os.environ.items()
                 if name not in ("TMUX", "NO_COLOR", "COLUMNS", "LINES")}  # fmt: skip
        self.environment = {**known, "LC_ALL": "C.UTF-8", "PS1": "$ ", **dict(environment)}
        self.tmux("-f", os.devnull, "new-session", "-d", "-x", width, "-y", height, "-c", views.path,
                  "sh")  # fmt: skip
        self.tmux("set-option", "-g", "remain-on-exit", "on")

    def tmux(self, *arguments):
        result = subprocess.run(["tmux", "-u", "-S", self.socket, *map(str, arguments)],
                                capture_output=True, env=self.environment)  # fmt: skip
        check(result.returncode == 0, f"tmux {arguments}: {result.stderr.decode()}")
        return result.stdout.decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def enter(self, command):
        self.type(command)
        self.tmux("send-keys", "Enter")

    def screen(self, *options):
        return self.tmux("capture-pane", "-p", *options)

    def wait(self, wanted, *options):
        """Looks until the screen is as wanted: it has these texts, or the function says so."""
        deadline = time.monotonic() + SECONDS
        texts = (wanted,) if isinstance(wanted, str) else wanted
        while True:
            screen = self.screen(*options)
            if wanted(screen) if callable(wanted) else all(text in screen for text in texts):
                return screen
            check(time.monotonic() < deadline, f"no {wanted} on the screen:\n{screen}")
            time.sleep(0.02)

    def wait_for_line(self, wanted):
        """A line that was printed, behind a prompt perhaps, if the command was typed before it came."""
        self.wait(lambda screen: any(line.removeprefix("# ").removeprefix("$ ") == wanted
                                     for line in screen.splitlines()))  # fmt: skip

    def resize(self, width, height):
        self.tmux("resize-window", "-x", width, "-y", height)

    def laneview(self, arguments, before=""):
        """Runs it between two looks at the terminal's modes."""
        binary = shlex.quote(self.views.binary)
        self.enter(f"clear; {MODES} >before; {before} {binary} {arguments}; {END}")

    def check_put_back(self, code=0):
        self.wait_for_line(f"code-{code}")
        self.wait(lambda _: (self.views.path / "after").exists())
        self.enter("cmp before after && echo as-it-was; rm after")
        self.wait_for_line("as-it-was")


def check_play(views, width, height):
    """The states of a run, then pause, step, graph, quit."""
    with Terminal(views, width, height) as terminal:
        terminal.laneview(f"play overlapping {SLOWLY}")
        screen = terminal.wait(("overlapping", "worker 0", "worker 3", "runs #", "q quit"))
        check(len(screen.splitlines()) == height, f"it fills the window:\n{screen}")
        terminal.wait(("2/3 arrived", "blocked:", "idle time of all workers: blocked"))
        terminal.type("p")
        paused = terminal.wait("paused: ")
        for number in (1, 2):
            terminal.type("d")
            screen = terminal.wait(f"laneview-{number}.dot is written")
            check(screen.splitlines()[:-1] == paused.splitlines()[:-1], "paused is paused")
        check_steps(terminal)
        terminal.type(" ")
        terminal.wait(lambda screen: "paused" not in screen)
        terminal.type("q")
        terminal.check_put_back()
        last = terminal.screen()
        check("idle time of all workers" in last, f"the last frame stays:\n{last}")
    for number in (1, 2):
        path = views.path / f"laneview-{number}.dot"
        check("worker 0: " in path.read_text(), "the graph is there")
        if shutil.which("dot"):
            graphs.draw(path.read_text())
        path.unlink()


def check_steps(terminal):
    """Each step says what happens, until the scenario has ended."""
    seen = set()
    for _ in range(3):
        before = terminal.screen()
        terminal.type("s")
        screen = terminal.wait(lambda screen: screen != before)
        seen.update(word for word in (" comes in", " starts", " ends", " reaches the head of ")
                    if word in screen.splitlines()[-1])  # fmt: skip
    check(seen, f"steps are told:\n{screen}")


def check_steps_submit(views):
    """Paused at the very beginning, steps alone bring a scenario to its end."""
    views.write("three.scenario", "client A B\nafter 3s\ntask A for 1ms label one\nafter 100s\n"
                "rollup A,B for 1ms label two\nafter 100s\ntask B for 1ms label three\n")  # fmt: skip
    wanted = ("#0 one comes in", "#0 one starts", "#0 one ends", "#1 two comes in", "#1 two starts",
              "#1 two ends", "#2 three comes in", "#2 three starts", "#2 three ends")  # fmt: skip
    with Terminal(views) as terminal:
        terminal.laneview("play three.scenario")
        terminal.wait("p pause")
        for text in wanted:
            terminal.type("s")
            terminal.wait(text)
        terminal.wait("over: ")
        terminal.type("q")
        terminal.check_put_back()


def check_failures(views):
    """A task that waits for its next attempt, one that is parked, and steps through both."""
    views.write("waits.scenario", "client A B\ntask A for 1ms fails 9 then poison label bad\n"
                "task B for 1ms fails 9 retries 9 delay 1000s label again\nrollup A,B for 1ms\n")  # fmt: skip
    for width, height in ((100, 24), (50, 12)):
        with Terminal(views, width, height) as terminal:
            terminal.laneview("play waits.scenario")
            terminal.wait(("╳ poisoned by #0 bad", "↻ failed 1x #1 again"))
            terminal.wait("blocked: #0 bad has failed and is parked" if width > 60 else "blocked: #0 is parked")
            terminal.type("q")
            terminal.check_put_back()
    views.write("failing.scenario", "client A\nafter 3s\ntask A for 1ms fails 2 retries 1 delay 1ms "
                "then poison label bad\ntask A for 1ms label good\nafter 100s\nresolve A retry\n"
                "after 100s\ntask A for 1ms label last\n")  # fmt: skip
    with Terminal(views) as terminal:
        terminal.laneview("play failing.scenario")
        terminal.wait("p pause")
        for text in ("#0 bad comes in", "#0 bad starts", "#0 bad fails, and will be retried", "#0 bad starts",
                     "#0 bad fails, and is parked", "#1 good comes in", "#0 bad starts", "#0 bad ends",
                     "#1 good reaches the head of A", "#1 good starts", "#1 good ends", "#2 last comes in",
                     "#2 last starts", "#2 last ends"):  # fmt: skip
            terminal.type("s")
            terminal.wait(text)
        terminal.wait("over: ")
        terminal.type("q")
        terminal.check_put_back()


def check_end(views):
    """It stays at the end; what ran is told."""
    with Terminal(views) as terminal:
        terminal.laneview("play seed --layout worker --workers 2")
        terminal.wait(("over: ", "0 pending, 0 ready, 0 latched", "worker 1"))
        check("worker 2" not in terminal.screen(), "--workers")
        terminal.type("q")
        terminal.check_put_back()


def check_sizes(views):
    with Terminal(views) as terminal:
        terminal.laneview(f"play overlapping {SLOWLY}")
        terminal.wait("2/3 arrived")
        for width, height in ((10, 3), (1, 1), (20, 2), (40, 9), (200, 50)):
            terminal.resize(width, height)
            if width >= 10:
                terminal.wait(lambda screen: screen.startswith("overlappin"[:width]))
        terminal.wait(lambda screen: len(screen.splitlines()) == 50 and "q quit" in screen)
        terminal.type("q")
        terminal.resize(80, 24)
        terminal.check_put_back()
    with Terminal(views, 60, 12) as terminal:
        terminal.laneview(f"play month-end --workers 40 {SLOWLY}")
        terminal.wait(("and 38 more workers", "more lanes", "idle time"))
        terminal.type("q")
        terminal.check_put_back()


def check_signals(views):
    """Ctrl-C, and signals from elsewhere: the pool ends, the terminal is as before."""
    views.write("long.scenario", "client A\nrepeat 3 task A for 1000s\nafter 1000s\ntask A for 1s\n")
    with Terminal(views) as terminal:
        terminal.laneview("play long.scenario")
        terminal.wait(("runs #0", "q quit"))
        terminal.tmux("send-keys", "C-c")
        terminal.wait(lambda screen: "q quit" not in screen)
        terminal.enter(END)  # the shell has seen it, too, and forgets what was to follow
        terminal.check_put_back(128 + signal.SIGINT)
        for number in (signal.SIGTERM, signal.SIGHUP):
            terminal.laneview("play long.scenario", before="sh -c 'echo $$ >pid; exec \"$@\"' sh")
            terminal.wait(("runs #0", "q quit"))
            os.kill(int((views.path / "pid").read_text()), number)
            terminal.check_put_back(128 + number)
        terminal.laneview("play long.scenario")
        terminal.wait(("runs #0", "q quit"))
        terminal.tmux("send-keys", "C-z")
        terminal.wait(lambda screen: "q quit" not in screen)
        terminal.enter("fg")
        terminal.wait(("runs #0", "q quit"))
        terminal.type("q")
        terminal.wait("worker 0")


def check_looks(views):
    with Terminal(views) as terminal:
        terminal.laneview(f"play overlapping {SLOWLY}")
        terminal.wait(("\x1b[32m", "\x1b[31m"), "-e")
        terminal.type("q")
        terminal.check_put_back()
        terminal.laneview(f"play overlapping {SLOWLY}", before="NO_COLOR=1")
        terminal.wait("2/3 arrived")
        check("\x1b[3" not in terminal.screen("-e"), "NO_COLOR")
        terminal.type("q")
        terminal.check_put_back()
    # A window of its own: the last frame of the one before stays on its screen for a moment.
    with Terminal(views) as terminal:
        terminal.laneview(f"play overlapping --ascii {SLOWLY}")
        check(terminal.wait(("oo", "2/3 arrived")).isascii(), "--ascii")
        terminal.type("q")
        terminal.check_put_back()


def check_replay(views):
    schedule.overlapping().write(views.path / "over.rec")
    with Terminal(views) as terminal:
        terminal.laneview("replay over.rec --speed 0.02")
        terminal.wait("2/3 arrived")
        terminal.type("s")
        terminal.wait("paused: #")
        terminal.type("p")
        terminal.type("q")
        terminal.check_put_back()
        terminal.laneview("replay over.rec")
        terminal.wait(("over: ", "0 pending"))
        terminal.type("q")
        terminal.check_put_back()


def check_no_terminal(views):
    """One line a second, which ends with the run, its reader, or a signal."""
    lines = views.text("play", "seed", "--speed", "0.05").splitlines()
    check(len(lines) >= 2 and lines[0].startswith("1 s: "), f"a line for each second: {lines}")
    check("0 pending, 0 ready, 0 latched" in lines[-1] and "\x1b" not in "".join(lines), f"{lines}")
    views.write("long.scenario", "client A\nrepeat 3 task A for 1000s\n")
    binary = shlex.quote(views.binary)
    result = subprocess.run(["sh", "-c", f"{binary} play long.scenario | head -1"], cwd=views.path,
                            capture_output=True, timeout=SECONDS)  # fmt: skip
    check(result.stdout.startswith(b"1 s: 1 of 2 workers run; 3 pending") and not result.stderr,
          f"it ends with its reader: {result}")  # fmt: skip
    process = subprocess.Popen([views.binary, "play", "long.scenario"], cwd=views.path,
                               stdout=subprocess.PIPE)  # fmt: skip
    check(process.stdout.readline().startswith(b"1 s: "), "its first line")
    process.terminate()
    check(process.wait(SECONDS) == -signal.SIGTERM, "it ends as SIGTERM ends programs")
    process.stdout.close()
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([views.binary, "play", "seed"], cwd=views.path, stdout=full,
                                    stderr=subprocess.PIPE)  # fmt: skip
        check((result.returncode, result.stderr) == (1, b"laneview: standard output cannot be written: "
              b"No space left on device\n"), f"on a full disk: {result}")  # fmt: skip
    views.wrong("laneview: there is no scenario nothing; laneview scenario prints those there are",
                "play", "nothing")  # fmt: skip


def main():
    views = Views()
    check_no_terminal(views)
    if shutil.which("tmux") is None:
        print("skipped: tmux is not installed")
        sys.exit(SKIPPED)
    for width, height in ((80, 24), (200, 50)):
        check_play(views, width, height)
    for part in (check_steps_submit, check_failures, check_end, check_sizes, check_signals, check_looks, check_replay):
        part(views)
    print("terminal: shown, paused, stepped through and put back")


if __name__ == "__main__":
    main()
