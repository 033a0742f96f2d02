#!/usr/bin/env python3
"""Checks by patterns that comments and pages are in plain English.

    prose.py <project> <file or folder>...

Lists sentences that readers probably have to read twice (CONTRIBUTING.md, "How we write"), and
sentences of more than 45 words. A pattern can be wrong about single sentences, so the check fails
only if it finds more than 5 for each thousand.
"""
import os
import re
import sys

PER_THOUSAND_MAX = 5
WORDS_MAX = 45
RIDDLES = [re.compile(pattern) for pattern in (
    r"^(?:Who|Whoever|What|All that|Whatever)\b(?! is this| happens)",
    r"^(?:The same|As below|Likewise)\b",
    r"^(?:True|False|NULL): ",
    r"[,;:] (?:who|whoever|what) \w+ .*[,;]",
    r"\b(?:is|are|was|were) told\b",
    r"\bstands?\b(?! for)",
    r"\blets? (?:it |them |him )?go\b",
    r"\bgo(?:es)? on\b",
    r"\bnobody\b|\bsomebody\b",
    r"\b(?:to|can) be had\b",
    r"\blacking\b|\bmeanwhile\b|\bbut for\b|\bso long\b|\bthe other one\b",
    r"\bkept\b (?!in|by|with|for|on)",
    r"\bheir\b|\blends?\b|\blent\b",
)]


def blocks_of_markdown(text):
    """Yields (line, text) of each paragraph, list item and table row outside of fenced code."""
    fenced, begin, lines = False, 0, []
    for number, line in enumerate(text.splitlines() + [""], 1):
        if line.startswith("```"):
            fenced = not fenced
            line = ""
        line = "" if fenced or line.startswith("#") else line.strip()
        if lines and (not line or line.startswith(("* ", "- ", "|"))):
            yield begin, " ".join(lines)
            lines = []
        if line:
            begin = begin if lines else number
            lines.append(line)


def blocks_of_c(text):
    for comment in re.finditer(r"/\*.*?\*/|//[^\n]*", text, re.S):
        words = re.sub(r"\n\s*\*?", " ", comment[0].strip("/*<! \n"))
        yield text.count("\n", 0, comment.start()) + 1, re.sub(r"\s+", " ", words)


def sentences_of(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for line, block in (blocks_of_markdown if path.endswith(".md") else blocks_of_c)(text):
        for sentence in re.split(r"(?<=[.;:!?])\s+(?=[A-Z`*])|\s\|\s|@\w+\s", block):
            sentence = sentence.strip(" *|-")
            if len(sentence.split()) >= 4:
                yield line, sentence


def files_of(places):
    for place in places:
        if os.path.isfile(place):
            yield place
        for folder, _, names in sorted(os.walk(place)):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".md")):
                    yield os.path.join(folder, name)


def main():
    project = sys.argv[1]
    count = found = 0
    for path in files_of(os.path.join(project, place) for place in sys.argv[2:]):
        for line, sentence in sentences_of(path):
            count += 1
            if len(sentence.split()) > WORDS_MAX or any(riddle.search(sentence) for riddle in RIDDLES):
                found += 1
                print("%s:%d: %s" % (os.path.relpath(path, project), line, sentence[:160]))
    print("%d sentences, %d to be read twice" % (count, found))
    return count == 0 or 1000 * found > PER_THOUSAND_MAX * count


if __name__ == "__main__":
    sys.exit(main())
