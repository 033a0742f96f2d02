"""Tries mutants: plants each into a copy of the sources, builds what it changes, and runs a ladder
of tests, the cheapest first, up to the first that notices it."""
import collections
import hashlib
import math
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import places

# A rung's program is built, and the command runs in the build directory; PROGRAM stands for its
# path. A rung that `repeats` takes the same steps each time. Another one must fail twice, because a
# test on real threads may fail for want of time or memory.
Rung = collections.namedtuple("Rung", "name program command repeats")
Outcome = collections.namedtuple("Outcome", "kind rung seconds")

NOTICED, SURVIVED, EQUIVALENT = "noticed", "survived", "equivalent"
DOES_NOT_COMPILE = "does not compile"
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "demo")
# A mutant may allocate, print, or run without end. In the units of ulimit.
LIMITED = ("ulimit -c 0 && ulimit -d 4194304 && ulimit -f 524288 && ulimit -t \"$1\" && shift && "
           "exec \"$@\"")
SECONDS_MAX = 600


def files_under(top, names):
    for name in names:
        place = top / name
        for path in [place] if place.is_file() else place.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(top)


def copy_tree(source, target):
    """Makes target a copy. A file that is the same already keeps its time, for the next build."""
    wanted = set(files_under(source, COPIED))
    for path in set(files_under(target, COPIED)) - wanted:
        (target / path).unlink()
    for path in wanted:
        old, new = target / path, source / path
        if not old.exists() or old.read_bytes() != new.read_bytes():
            old.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(new, old)
            shutil.copymode(new, old)


def run(command, directory, log, seconds, environment=None):
    """Returns the exit status; None after a time-out, when all its processes are ended."""
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                          start_new_session=True, env=environment) as process:
        try:
            return process.wait(seconds)
        except BaseException as stopped:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            return None


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Trial:
    """One copy of the sources, one build of it, and the ladder. Trials in several places may run
    side by side."""

    def __init__(self, source, place, ladder, configure=(), jobs=1):
        self.tree, self.build = place / "tree", place / "build"
        self.ladder, self.jobs = ladder, jobs
        self.original, self.limits = {}, {}
        self.log = place / "log"
        self.build.mkdir(parents=True, exist_ok=True)
        copy_tree(source, self.tree)
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        # With paths below one folder, ccache builds the second place from the objects of the first.
        self.environment = {**os.environ, "CCACHE_BASEDIR": str(place), "CCACHE_NOHASHDIR": "1"}
        if shutil.which("ccache"):
            generator.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        self.must_pass(
            ["cmake", "-S", str(self.tree), "-B", str(self.build), *generator, *configure])

    def must_pass(self, command):
        with open(self.log, "wb") as log:
            status = run(command, self.build, log, None, self.environment)
        if status != 0:
            tail = self.log.read_text(errors="replace")[-4000:]
            raise SystemExit(f"fails without a mutant: {' '.join(command)}\n{tail}")

    def build_command(self, program):
        jobs = str(self.jobs)
        return ["cmake", "--build", str(self.build), "--parallel", jobs, "--target", program]

    def digest(self, program):
        path = self.build / "bin" / program
        return hashlib.sha256(path.read_bytes()).digest()

    def command_of(self, rung, cpu_seconds):
        """The command of a rung; each of its processes has a limit of processor time."""
        own = str(self.build / "bin" / rung.program)
        command = [own if word == "PROGRAM" else word for word in rung.command]
        if rung.program.endswith("_thread"):  # ThreadSanitizer reserves more memory than there is
            return command
        return ["sh", "-c", LIMITED, "sh", str(cpu_seconds), *command]

    def measure(self, say, limits):
        """Builds without a mutant, and runs each rung, for its digest and the limits of its time.
        Rungs whose limits another trial has measured do not run. A program that waits for ever
        ends late, so that a busy machine decides no verdict."""
        self.limits = limits
        for rung in self.ladder:
            self.must_pass(self.build_command(rung.program))
            self.original[rung.program] = self.digest(rung.program)
            if rung.name in limits:
                continue
            begin, used = time.monotonic(), children_seconds()
            self.must_pass(self.command_of(rung, SECONDS_MAX))
            seconds, used = time.monotonic() - begin, children_seconds() - used
            limits[rung.name] = (min(SECONDS_MAX, 60 + 5 * seconds), math.ceil(10 + 5 * used))
            say(f"without a mutant: {rung.name} passes in {seconds:.1f} s")

    def climb(self, mutant):
        """Returns (kind, rung)."""
        changed = False
        for rung in self.ladder:
            with open(self.log, "wb") as log:
                build = self.build_command(rung.program)
                if run(build, self.build, log, None, self.environment) != 0:
                    return DOES_NOT_COMPILE, None
                if self.digest(rung.program) == self.original[rung.program]:
                    continue
                changed = True
                seconds, cpu_seconds = self.limits[rung.name]
                command = self.command_of(rung, cpu_seconds)
                if all(run(command, self.build, log, seconds, self.environment) != 0
                       for _ in range(1 if rung.repeats else 2)):
                    return NOTICED, rung.name
        return SURVIVED if changed else EQUIVALENT, None

    def try_mutant(self, mutant):
        path = self.tree / mutant.path
        original = path.read_text(encoding="utf-8")
        begin = time.monotonic()
        path.write_text(places.planted(mutant, original), encoding="utf-8")
        try:
            kind, rung = self.climb(mutant)
        finally:
            path.write_text(original, encoding="utf-8")
        return Outcome(kind, rung, time.monotonic() - begin)
