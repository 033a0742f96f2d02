"""What the laneview script tests share."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 77  # the exit code that CTest reads as "skipped"


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


class Views:
    """The program, with a folder to work in; its path is the first argument of every test."""

    def __init__(self):
        if len(sys.argv) < 2 or not os.access(sys.argv[1], os.X_OK):
            sys.exit(f"usage: {sys.argv[0]} LANEVIEW [ARGUMENT]...")
        self.binary = os.path.abspath(sys.argv.pop(1))
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)

    def run(self, *arguments, expect=0, environment=(), **options):
        """Runs a command; any other exit code than the expected one fails the test."""
        known = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
        result = subprocess.run([self.binary, *map(str, arguments)], cwd=self.path,
                                capture_output=True, env={**known, **dict(environment)},
                                **options)  # fmt: skip
        if expect is not None and result.returncode != expect:
            sys.exit(f"FAILED: exit {result.returncode}, expected {expect}: "
                     f"{' '.join(map(str, arguments))}\n{result.stdout[-2000:]}\n"
                     f"{result.stderr.decode(errors='replace')[-3000:]}")  # fmt: skip
        return result

    def text(self, *arguments, **options):
        return self.run(*arguments, **options).stdout.decode()

    def wrong(self, message, *arguments, code=2, **options):
        """The command fails with exactly this on standard error."""
        found = self.run(*arguments, expect=code, **options).stderr.decode()
        check(found == message + "\n", f"{arguments}: said {found!r} instead of {message!r}")

    def write(self, name, contents):
        path = self.path / name
        if isinstance(contents, str):
            contents = contents.encode()
        path.write_bytes(contents)
        return name
