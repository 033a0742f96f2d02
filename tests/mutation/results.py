"""The file of verdicts, with which one run of tests/mutate continues where another was ended."""
import threading

import places
import trial


def describe(mutant, texts):
    """One line that names the mutant. Where the source has not changed, it stays the same."""
    old, new = places.changed_line(mutant, texts[mutant.path])
    return f"{mutant.path}:{mutant.line}: {mutant.operator}: {old}  ->  {new}"


class Results:
    """Several threads may add verdicts. The last verdict about a mutant counts."""

    def __init__(self, path, seed, texts):
        self.path, self.seed, self.texts = path, seed, texts
        self.lock = threading.Lock()
        self.known = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            of_seed, kind, rung, seconds, text = line.split("\t")
            if of_seed == seed:
                self.known[text] = trial.Outcome(kind, rung or None, float(seconds))

    def forget(self):
        self.path.unlink(missing_ok=True)
        self.known.clear()

    def of(self, mutant):
        """Returns the verdict about the mutant; None if there is none."""
        return self.known.get(describe(mutant, self.texts))

    def add(self, mutant, outcome):
        """Returns the line that names the mutant."""
        text = describe(mutant, self.texts)
        with self.lock:
            self.known[text] = outcome
            with open(self.path, "a", encoding="utf-8") as file:
                print(self.seed, outcome.kind, outcome.rung or "", f"{outcome.seconds:.1f}", text,
                      sep="\t", file=file)
        return text
