"""A PostgreSQL server of a test's own; see tests/remote/pg/server.sh."""
import shutil
import subprocess
import sys
from pathlib import Path

import books

SCRIPT = Path(__file__).resolve().parents[1] / "remote" / "pg" / "server.sh"


def find_psql():
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql")) or [shutil.which("psql")]
    if not found[-1]:
        print("skipped: psql is not installed")
        sys.exit(books.SKIPPED)
    return found[-1]


class Server:
    """A context: the server runs inside it. Exits with 77 if the server's programs are missing."""

    def __enter__(self):
        self.psql = find_psql()
        self.script = subprocess.Popen(["bash", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        word, _, self.folder = self.script.stdout.readline().strip().partition(" ")
        if word == "skip":
            print("skipped:", self.folder)
            sys.exit(books.SKIPPED)
        books.check(word == "ready", f"the server: {self.folder}")
        self.uri = f"postgresql://admin@/postgres?host={self.folder}"
        return self

    def __exit__(self, *_):
        self.script.stdin.close()
        self.script.wait()

    def order(self, command):
        self.script.stdin.write(command + "\n")
        self.script.stdin.flush()
        answer = self.script.stdout.readline().strip()
        books.check(answer == "done", f"{command}: {answer}")

    def command(self, sql):
        return [self.psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", self.uri,
                "--set", "ON_ERROR_STOP=1", "--command", sql]  # fmt: skip

    def ask(self, sql, default=None):
        """The rows as text; or `default`, if the server refuses."""
        result = subprocess.run(self.command(sql), capture_output=True, text=True)
        books.check(result.returncode == 0 or default is not None, result.stderr)
        return result.stdout.strip() if result.returncode == 0 else default

    def session(self, *statements):
        """A session that has done this, and stays until its input is closed."""
        session = subprocess.Popen([*self.command(statements[0])[:-2], "--file", "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True)  # fmt: skip
        session.stdin.write("".join(statement + ";\n" for statement in statements) + "\\echo ready\n")
        session.stdin.flush()
        while session.stdout.readline().strip() != "ready":
            books.check(session.poll() is None, "a session has ended")
        return session
