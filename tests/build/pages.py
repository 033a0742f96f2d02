"""Checks the Markdown pages:

* README.md is short.
* docs/README.md links to every page of docs/.
* Links lead to files that exist, and anchors to headings. In a link [`name`](tests/...c) the name
  is a test of that file.
* C and C++ code in the pages for users is quoted word for word from a program of demo/examples or
  demo/tutorial. Every program is quoted whole, and its page quotes what it prints (NAME.out).

    pages.py <project> [--self-test | --quote | --links]

With --links it checks only the links, of a project or of its installed pages. With --self-test it
also plants an error of each sort, and fails if one is not found. With --quote it quotes the programs
anew, and what they print: in the blocks that follow a link to the program."""
import re
import sys
from pathlib import Path

README_LINES_MAX = 200
PAGES = ("*.md", "docs/**/*.md", "tests/**/*.md", "demo/**/*.md")
USER_PAGES = ("README.md", "docs/README.md", "docs/guide.md", "docs/tutorial.md",
              "docs/examples.md", "docs/install.md", "docs/cpp.md")
PROGRAMS = ("demo/examples", "demo/tutorial")
LANGUAGES = ("c", "cpp")  # of programs, and of the blocks that quote them


def read_pages(project):
    """Returns path -> text, with paths relative to the project."""
    return {str(path.relative_to(project)): path.read_text(encoding="utf-8")
            for pattern in PAGES for path in sorted(project.glob(pattern))}


def blocks(text, language):
    """Returns the fenced blocks of a language."""
    return re.findall(r"^```%s\n(.*?)^```$" % language, text, re.S | re.M)


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)


def anchors(text):
    """Returns the anchors that GitHub gives to a page's headings."""
    found = {}
    for heading in re.findall(r"^#+ +(.*?) *$", without_code(text), re.M):
        heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        number = found.get(slug)
        found[slug] = 0 if number is None else number + 1
        if number is not None:
            found["%s-%d" % (slug, number + 1)] = 0
    return set(found)


def links_of(text):
    return re.findall(r"\[((?:[^][]|\[[^]]*\])*)\]\(([^()\s]+)\)", without_code(text))


def check_links(project, pages):
    for page, text in pages.items():
        for label, target in links_of(text):
            if re.match(r"[a-z]+:", target):
                continue
            path, _, anchor = target.partition("#")
            place = (project / page).parent / path if path else project / page
            if not place.exists():
                yield "%s links to %s, which does not exist" % (page, target)
                continue
            place = str(place.resolve().relative_to(project.resolve()))
            if anchor and anchor not in anchors(pages.get(place, "")):
                yield "%s links to %s: no heading has this anchor" % (page, target)
            test = re.fullmatch(r"`([a-z0-9_]+)`", label)
            if test and place.startswith("tests/") and place.endswith(".c") and not re.search(
                    r"^Test\([a-z0-9_]*, %s\)" % test[1], (project / place).read_text(), re.M):
                yield "%s names the test %s, which is not in %s" % (page, test[1], place)


def check_quotes(project, pages):
    programs = {path: path.read_text() for place in PROGRAMS
                for language in LANGUAGES
                for path in sorted((project / place).glob("*." + language))}
    code = {page: [block for language in LANGUAGES for block in blocks(pages.get(page, ""), language)]
            for page in USER_PAGES}
    for page in USER_PAGES:
        for block in code[page]:
            if not any("\n" + block in "\n" + program for program in programs.values()):
                yield "%s has code that is in no program:\n%s" % (page, block[:200])
    for path, program in programs.items():
        name = path.relative_to(project)
        quoting = [page for page in USER_PAGES if program in code[page]]
        if not quoting:
            yield "no page quotes %s word for word" % name
        output = path.with_suffix(".out")
        if not output.exists():
            yield "%s is missing" % output.relative_to(project)
        elif not any(output.read_text() in blocks(pages[page], "text") for page in quoting):
            yield "no page that quotes %s quotes what it prints" % name


def check_size(_, pages):
    lines = pages["README.md"].count("\n")
    if lines > README_LINES_MAX:
        yield "README.md has %d lines; at most %d" % (lines, README_LINES_MAX)


def check_index(_, pages):
    linked = {target for _, target in links_of(pages.get("docs/README.md", ""))}
    for page in pages:
        name = page.removeprefix("docs/")
        if name != page and "/" not in name and name != "README.md" and name not in linked:
            yield "docs/README.md does not link to %s" % page


def find_faults(project, pages):
    return [fault for check in (check_size, check_index, check_links, check_quotes)
            for fault in check(project, pages)]


def self_test(project, pages):
    """Plants one error of each sort. Returns a message for each that is not found."""
    planted = {
        "a changed quotation": ("docs/examples.md", r"lanepool_pool_destroy\(pool\);",
                                "lanepool_pool_end(pool);"),
        "a missing quotation": ("docs/examples.md", r"^```c$", "```"),
        "a changed output": ("docs/examples.md", r"^client 0: 500$", "client 0: 501"),
        "a page without a link": ("docs/README.md", r"^.*\(caveats\.md\).*\n", ""),
        "a dead link": ("README.md", r"\(docs/caveats\.md", "(docs/caveat.md"),
        "a dead anchor": ("README.md", r"#how-to-read-the-picture", "#how-to-read-the-pictures"),
        "a wrong test": ("docs/seeds.md", r"`s1_", "`s9_"),
        "a long README": ("README.md", r"\Z", "\n" * README_LINES_MAX),
    }
    for what, (page, pattern, replacement) in planted.items():
        changed, count = re.subn(pattern, replacement, pages[page], count=1, flags=re.M)
        if count == 0 or not find_faults(project, {**pages, page: changed}):
            yield "pages.py does not find %s" % what


def quote_anew(project, page):
    """Rewrites the blocks that follow links to programs, up to the next such link."""
    parts = re.split(r"(\]\((?:\.\./)?(?:%s)/\w+\.c(?:pp)?\))" % "|".join(PROGRAMS),
                     page.read_text(encoding="utf-8"))
    for n in range(1, len(parts), 2):
        program = project / re.search(r"demo/\w+/\w+\.c(?:pp)?", parts[n])[0]
        for language, source in ((program.suffix[1:], program), ("text", program.with_suffix(".out"))):
            parts[n + 1] = re.sub(r"^```%s\n.*?^```$" % language,
                                  lambda _: "```%s\n%s```" % (language, source.read_text()),
                                  parts[n + 1], count=1, flags=re.S | re.M)
    page.write_text("".join(parts), encoding="utf-8")


def main():
    project = Path(sys.argv[1])
    if "--quote" in sys.argv:
        for page in USER_PAGES:
            if (project / page).exists():
                quote_anew(project, project / page)
    pages = read_pages(project)
    links_only = "--links" in sys.argv
    faults = list(check_links(project, pages)) if links_only else find_faults(project, pages)
    if not pages:
        faults.append("there are no pages in %s" % project)
    if not faults and "--self-test" in sys.argv:
        faults = list(self_test(project, pages))
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
