"""Tries mutants: plants each into a copy of the sources, builds what it changes, and runs a ladder
of tests, the cheapest first, up to the first that notices it."""
import collections
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import time
from pathlib import Path

import places

# A rung's program is built, and the command runs in the build directory; PROGRAM stands for its
# path. A rung is for some operators, or, if `operators` is None, for all.
Rung = collections.namedtuple("Rung", "name program command operators")
Outcome = collections.namedtuple("Outcome", "kind rung seconds")

NOTICED, SURVIVED, EQUIVALENT = "noticed", "survived", "equivalent"
DOES_NOT_COMPILE = "does not compile"
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests", "demo")
MEMORY_MAX = 4 << 30
OUTPUT_MAX = 256 << 20
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


def limit_resources():
    """A mutant may allocate, or print, without end."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MAX, MEMORY_MAX))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_MAX, OUTPUT_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, directory, log, seconds, prepare=None):
    """Returns the exit status; None after a time-out, when all its processes are ended."""
    with subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                          start_new_session=True, preexec_fn=prepare) as process:
        try:
            return process.wait(seconds)
        except BaseException as stopped:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(stopped, subprocess.TimeoutExpired):
                raise
            return None


class Trial:
    """One copy of the sources, one build of it, and the ladder."""

    def __init__(self, source, place, ladder, configure=(), jobs=1):
        self.tree, self.build = place / "tree", place / "build"
        self.ladder, self.jobs = ladder, jobs
        self.original, self.limits = {}, {}
        self.log = place / "log"
        self.build.mkdir(parents=True, exist_ok=True)
        copy_tree(source, self.tree)
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        if shutil.which("ccache"):
            generator.append("-DCMAKE_C_COMPILER_LAUNCHER=ccache")
        self.must_pass(
            ["cmake", "-S", str(self.tree), "-B", str(self.build), *generator, *configure])

    def must_pass(self, command, prepare=None):
        with open(self.log, "wb") as log:
            status = run(command, self.build, log, None, prepare)
        if status != 0:
            tail = self.log.read_text(errors="replace")[-4000:]
            raise SystemExit(f"fails without a mutant: {' '.join(command)}\n{tail}")

    def build_command(self, program):
        jobs = str(self.jobs)
        return ["cmake", "--build", str(self.build), "--parallel", jobs, "--target", program]

    def digest(self, program):
        path = self.build / "bin" / program
        return hashlib.sha256(path.read_bytes()).digest()

    def command_of(self, rung):
        own = str(self.build / "bin" / rung.program)
        return [own if word == "PROGRAM" else word for word in rung.command]

    def prepare_of(self, rung):
        # ThreadSanitizer reserves more memory than there is.
        return None if rung.program.endswith("_thread") else limit_resources

    def measure(self, say):
        """Builds without a mutant, and runs each rung, for its digest and the limit of its time."""
        for rung in self.ladder:
            self.must_pass(self.build_command(rung.program))
            begin = time.monotonic()
            self.must_pass(self.command_of(rung), self.prepare_of(rung))
            seconds = time.monotonic() - begin
            self.original[rung.program] = self.digest(rung.program)
            self.limits[rung.name] = min(SECONDS_MAX, 15 + 5 * seconds)
            say(f"without a mutant: {rung.name} passes in {seconds:.1f} s")

    def climb(self, mutant):
        """Returns (kind, rung)."""
        changed = False
        for rung in self.ladder:
            if rung.operators is not None and mutant.operator not in rung.operators:
                continue
            with open(self.log, "wb") as log:
                if run(self.build_command(rung.program), self.build, log, None) != 0:
                    return DOES_NOT_COMPILE, None
                if self.digest(rung.program) == self.original[rung.program]:
                    continue
                changed = True
                if run(self.command_of(rung), self.build, log, self.limits[rung.name],
                       self.prepare_of(rung)) != 0:
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
