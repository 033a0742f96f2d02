#!/usr/bin/env python3
"""Doxygen's input filter: writes a public header or a page in the form that Doxygen understands.

    expand.py <file>

A header gets the parameters that headers.HANDLES and headers.NAMES describe, the statuses of @also,
and links to pages. A page gets labels for its headings. Its links then lead to these labels, and its pictures are
where HTML_EXTRA_FILES puts them. Links to files that are no pages become plain text. Pages that an
index lists are shown below it in the tree.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import headers  # noqa: E402


PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAIN = "docs/README.md"
INDEXES = (MAIN, "docs/decisions/README.md")


def is_page(path):
    """Whether Doxygen's input contains a file. As INPUT in Doxyfile.in."""
    return path.endswith(".md") and os.path.exists(os.path.join(PROJECT, path)) and (
        path.startswith("docs/") or "/" not in path
        or path in ("tests/SCENARIOS.md", "tests/bench/README.md"))


def label(path, heading=""):
    """The label of a page, or of a heading as links name it."""
    name = path.removesuffix(".md") + ("_" + heading if heading else "")
    return re.sub(r"\W", "_", name)


def slug(heading):
    return re.sub(r"[^\w -]", "", heading.lower().replace("`", "")).strip().replace(" ", "-")


def with_links(text):
    return re.sub(r"\bdocs/(\w+)\.md", r"@ref docs_\1", text)


def link(page, text, target):
    """Returns what replaces [text](target) in a page."""
    if re.match(r"\w+:", target):
        return "[%s](%s)" % (text, target)
    path, _, heading = target.partition("#")
    path = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not is_page(path):
        if path.startswith("include/") or path in text:
            return text
        return "`%s`" % path if path.endswith(text.strip("`")) else "%s (`%s`)" % (text, path)
    if page in INDEXES and not heading and path != page:
        return '@subpage %s "%s"' % (label(path), text.replace("`", ""))
    address = "index.html" if path == MAIN else label(path) + ".html"
    return '<a href="%s%s">%s</a>' % (address, "#" + label(path, heading) if heading else "", text)


def list_of_topics():
    """Returns what replaces the mark <!-- topics --> in the main page."""
    _, topics, _ = headers.read_headers(os.path.join(PROJECT, "include"))
    rows = ["* @ref %s \"%s\"" % (topic.name, topic.title) for topic in topics.values()]
    rows.append('* <a href="globals_func.html">All calls</a>, <a href="annotated.html">all '
                'structs</a>, <a href="globals.html">everything by name</a>')
    return "\n".join(rows)


def write_page(path, source):
    page = os.path.relpath(os.path.abspath(path), PROJECT)
    parts = re.split(r"(^```.*?^```[^\n]*$)", source, flags=re.M | re.S)
    for number, part in enumerate(parts):
        if number % 2:
            sys.stdout.write(part)
            continue
        part = re.sub(r"!\[([^\]]*)\]\(([^)]*)\)", lambda found: '<img src="%s" alt="%s"/>' % (
            os.path.basename(found[2]), headers.joined(found[1]).replace('"', "'")), part)
        part = re.sub(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]*)\)", lambda found: link(
            page, headers.joined(found[1]), found[2]), part)
        # Doxygen ends *emphasis* at a code span or a link.
        part = re.sub(r"^\*([^*\s][^*]*[^*\s])\*$", r"<em>\1</em>", part, flags=re.M)
        part = re.sub(r"^(#{2,}) (.*?) *$", lambda found: "%s %s {#%s}" % (
            found[1], found[2], label(page, slug(found[2]))), part, flags=re.M)
        if page == MAIN:
            part = part.replace("<!-- topics -->", list_of_topics())
        elif number == 0:
            part = re.sub(r"\A\s*# (.*)", r"# \1 {#%s}" % label(page), part)
        sys.stdout.write(part)


def expanded(item):
    comment = item.comment
    lines = []
    for paragraph in comment.paragraphs:
        lines += [paragraph, ""]
    for kind, name in item.params:
        lines.append("@param %s %s" % (name, headers.comment_of_param(item, kind, name)))
    lines += ["@retval %s %s" % row for row in comment.retvals]
    for status, addition in comment.also:
        text = headers.COMMON[status]
        lines.append("@retval %s %s" % (status, text[:-1] + " (%s)." % addition if addition else text))
    if comment.returns:
        lines.append("@return " + comment.returns)
    for title, text in (("Threads", comment.threads), ("Complexity", comment.complexity)):
        if text:
            lines += ["@par " + title, text]
    return "/**\n" + "\n".join(" * " + with_links(line) for line in lines) + "\n */"


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as file:
        source = file.read()
    if path.endswith(".md"):
        write_page(path, source)
        return
    # Doxygen writes no anchors for members of a union without a name. They are the struct's, too.
    source = re.sub(r"^    union \{\n((?:        .*\n)*?)    \};.*\n", r"\1", source, flags=re.M)
    source = re.sub(r"^LANEPOOL_C_(BEGIN|END)\n", "", source, flags=re.M)
    items, _, _ = headers.read_source(source, path)
    place = 0
    for item in sorted(items, key=lambda item: item.comment.span):
        begin, end = item.comment.span
        if end and (item.is_call or item.params) and begin >= place:
            sys.stdout.write(with_links(source[place:begin]) + expanded(item))
            place = end
        elif end and begin >= place:
            sys.stdout.write(with_links(source[place:begin]))
            place = begin
    sys.stdout.write(with_links(source[place:]))


if __name__ == "__main__":
    main()
