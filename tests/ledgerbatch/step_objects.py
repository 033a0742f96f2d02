"""Builds the steps of the tests, as a user builds one."""
from pathlib import Path

import books

ROOT = Path(__file__).resolve().parents[2]
HEADER_FOLDER = ROOT / "demo/ledgerbatch/step"


def compile_step(source, path, *defines):
    books.run("cc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
              f"-I{HEADER_FOLDER}", *(f"-D{define}" for define in defines), source, "-o", path)  # fmt: skip
    path.chmod(0o755)
    return path


def build(folder, source, name=None, *defines):
    """Builds a step of the folder steps/; replaces one that is there."""
    path = folder / f"{name or source}.so"
    path.unlink(missing_ok=True)
    return compile_step(Path(__file__).resolve().parent / "steps" / f"{source}.c", path, *defines)
