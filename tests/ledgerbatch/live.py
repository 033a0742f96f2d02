#!/usr/bin/env python3
"""A run that is drawn while it goes on: the same results, the report, and a terminal in order.

usage: live.py LEDGERBATCH LANEVIEW
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from pathlib import Path

import books
import recorded
from books import check

BEGIN = b"\033[?1049h\033[?25l\033[2J"  # the other screen, without a cursor
END = b"\033[?25h\033[?1049l"
LINE = re.compile(r"[0-9.]+ (ns|us|ms|s): \d+ of 2 workers run; \d+ pending, \d+ ready, \d+ latched")
COLOUR = re.compile(rb"\033\[\d+m")


class Terminal:
    """A program on a terminal of its own, which is so large that a frame fills its buffer."""

    def __init__(self, command, **environment):
        self.side, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 200, 400, 0, 0))
        known = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
        self.process = subprocess.Popen(command, stdin=far, stdout=far, stderr=far,
                                        start_new_session=True, env={**known, **environment})
        os.close(far)
        self.shown = b""

    def read_some(self):
        try:
            more = os.read(self.side, 65536)
        except OSError:  # how Linux says that nobody is there any more
            more = b""
        self.shown += more
        return more != b""

    def read_until(self, wanted):
        while wanted not in self.shown:
            check(self.read_some(), f"{wanted} was never shown, but {self.shown[-500:]}")

    def finish(self, code):
        while self.read_some():
            pass
        os.close(self.side)
        self.process.wait()
        check(self.process.returncode == code, f"exit {self.process.returncode}: {self.shown[-500:]}")
        return self.shown


def check_pipe(batch, wanted):
    result = batch.run("piped", "--live", "--task-wait-us", 1000)
    whole = result.stdout.decode().splitlines()
    end = next(i for i, line in enumerate(whole) if " transactions and " in line)
    lines, report, last = whole[:end], whole[end], whole[end + 1]
    check(lines and all(LINE.match(line) for line in lines), f"lines: {lines}")
    check(": 0 of 2 workers run; 0 pending" in lines[-1], "the last one is about the end")
    check("month-end rollups" in report and last.startswith("database "), f"the report: {report}")
    check(result.stderr == b"", "nothing went wrong")
    books.check_same(batch.results("piped"), wanted, "with --live and no terminal")


def check_terminal(batch, wanted):
    recording = batch.folder / "live.recording"
    command = batch.command("drawn", "--live", "--task-wait-us", 1000, "--trace", recording)
    shown = Terminal(command).finish(0)
    check(shown.startswith(BEGIN) and shown.count(BEGIN) == 1, "the cursor is hidden")
    check(shown.count(END) == 1, "the cursor is shown again")
    frames, report = shown.split(END)
    check(b"month-end rollups" in report and b"\033" not in report, f"the report: {report}")
    end = frames.split(b"\033[H")[-1]
    check(b"ledgerbatch: 39 of 39 tasks" in end, "the last frame is about the end")
    for word in (b"worker 1", b"(group east)", b"C5", b"% busy", b"idle time of all workers"):
        check(word in end, f"{word} is in the frame")
    check(COLOUR.search(frames.replace(b"\033[0m", b"")), "there are colours")
    books.check_same(batch.results("drawn"), wanted, "with --live on a terminal")
    check(batch.stats(recording)["missed_events"] == 0, "it is recorded as well")


def check_plain(batch):
    command = batch.command("plainly", "--live", "--ascii", "--task-wait-us", 1000)
    shown = Terminal(command, NO_COLOR="1").finish(0)
    check(shown.isascii(), "--ascii")
    check(not COLOUR.search(shown.replace(END, b"")), "NO_COLOR")
    result = batch.run("other", "--ascii", expect=2)
    check(b"--ascii is about --live" in result.stderr, f"{result.stderr}")


def check_signals(batch, wanted, number):
    """While nobody reads, the program waits with its frame half drawn: so it is still running."""
    name = f"signal-{number}"
    terminal = Terminal(batch.command(name, "--live", "--task-wait-us", 100, "--commit-size", 50))
    terminal.read_until(b"worker 0")
    terminal.process.send_signal(number)
    if number == signal.SIGTERM:
        shown = terminal.finish(7)
        check(b"stopped by SIGTERM" in shown, f"the program says what has stopped it: {shown[-200:]}")
        check(shown.count(BEGIN) == shown.count(END), "the terminal is in order")
    else:
        shown = terminal.finish(-number)
        check(shown.endswith(END), f"the terminal is in order: {shown[-200:]}")
    batch.run(name)
    books.check_same(batch.results(name), wanted, f"signal {number}, and resumed")


def check_stop_and_go(batch, wanted):
    """What Ctrl-Z does: the shell gets a terminal in order."""
    terminal = Terminal(batch.command("stopped", "--live", "--task-wait-us", 100))
    terminal.read_until(b"worker 0")
    terminal.process.send_signal(signal.SIGTSTP)
    reader = threading.Thread(target=terminal.read_until, args=(END,))
    reader.start()
    os.waitid(os.P_PID, terminal.process.pid, os.WSTOPPED)
    reader.join()
    check(terminal.shown.endswith(END), "nothing is drawn behind it")
    terminal.process.send_signal(signal.SIGCONT)
    shown = terminal.finish(0)
    check(END + BEGIN in shown and shown.count(END) == 2, "it goes on drawing")
    books.check_same(batch.results("stopped"), wanted, "stopped, and gone on")


def check_reader_that_goes_away(batch, wanted):
    command = batch.command("left", "--live", "--task-wait-us", 1000)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        said = process.stderr.read()
    check(process.returncode == 1, f"exit {process.returncode}")
    check(said == b"ledgerbatch: standard output cannot be written\n", f"said {said}")
    books.check_same(batch.results("left"), wanted, "when nobody reads")


def main():
    binary = books.program()
    viewer = os.path.abspath(sys.argv.pop(1))
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        small = recorded.small_batch(folder, binary, viewer)
        small.run("plain")
        wanted = small.results("plain")
        check_pipe(small, wanted)
        check_terminal(small, wanted)
        check_plain(small)
        check_reader_that_goes_away(small, wanted)
        large = recorded.large_batch(folder, binary, viewer)
        large.run("plain")
        wanted = large.results("plain")
        check_signals(large, wanted, signal.SIGINT)
        check_signals(large, wanted, signal.SIGTERM)
        check_stop_and_go(large, wanted)
    print("live: the results are the same, and the terminal is left in order")


if __name__ == "__main__":
    main()
