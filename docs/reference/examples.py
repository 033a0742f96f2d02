"""Finds, for each call and macro, a few lines of a tested program that uses it."""
import glob
import os
import re

# Where to look, best first. Each of these programs is run by a test.
PLACES = ("demo/examples/*.c", "demo/tutorial/*.c", "demo/*/*.c", "tests/build/consumer/*.c",
          "tests/contract/*.c", "tests/feature/*/contract*.c", "tests/adapters/*.c",
          "tests/remote/*.c", "tests/remote/pg/*.c")
BEFORE, AFTER, WHOLE = 7, 6, 22  # lines
UNUSUAL = re.compile(r"\b(?:NULL|expect_status|LANEPOOL_(?:INVALID|FORKED|DEADLOCK|SHUT_DOWN))\b")


def without_comments(text):
    """Blanks comments and strings out, so that positions stay."""
    return re.sub(r'/\*(?:.|\n)*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"',
                  lambda found: re.sub(r"[^\n]", " ", found[0]), text)


class Source:
    def __init__(self, project, path):
        self.name = os.path.relpath(path, project)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.lines = text.split("\n")
        self.code = without_comments(text).split("\n")
        self.calls = {}  # name: the lines inside functions that use it
        for number, line in enumerate(self.code):
            if line.startswith(" "):
                for name in re.findall(r"\b(lanepool_\w+|LANEPOOL_\w+(?=\())", line):
                    self.calls.setdefault(name, []).append(number)

    def excerpt(self, name):
        """Returns lines around a call, if possible one that succeeds."""
        at = min(self.calls[name], key=lambda number: bool(UNUSUAL.search(self.code[number])))
        begin = at
        while begin > 0 and self.code[begin] != "{":
            begin -= 1
        end = at
        while end < len(self.code) - 1 and self.code[end] != "}":
            end += 1
        head = begin
        while head > 0 and self.code[head - 1].strip() and self.code[head - 1][-1] not in ";}":
            head -= 1
        if end - head < WHOLE:
            return "\n".join(self.lines[head:end + 1])
        first, last = max(begin + 1, at - BEFORE), min(end - 1, at + AFTER)
        while first > begin + 1 and first < at and not re.search(r"[;{}]\s*$", self.code[first - 1]):
            first += 1
        while last < end - 1 and not re.search(r"[;}]\s*$", self.code[last]):
            last += 1
        chosen = self.lines[first:last + 1]
        indents = [len(line) - len(line.lstrip()) for line in chosen if line.strip()]
        chosen = [line[min(indents):] for line in chosen]
        return "\n".join(chosen).strip("\n")


def read_sources(project):
    """Returns a list of sources for each of PLACES."""
    return [[Source(project, path) for path in sorted(glob.glob(os.path.join(project, place)))]
            for place in PLACES]


def example_of(sources, name):
    """Returns (file, text) from the program that uses a call most; (None, None) if none does."""
    for place in sources:
        using = [source for source in place if name in source.calls]
        if using:
            best = max(using, key=lambda source: len(source.calls[name]))
            return best.name, best.excerpt(name)
    return None, None
