#!/usr/bin/env python3
"""Writes man pages from the public headers.

    manual.py <project> <output folder> <version>

Writes man3/NAME.3 for each public call and each public type, and man7/lanepool.7. The page of a
struct describes the macros that make it, and has a link for each of their names. The date of the
pages is SOURCE_DATE_EPOCH, or that of the newest header.
"""
import datetime
import glob
import os
import re
import sys
import textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import examples  # noqa: E402
import headers  # noqa: E402

SEE_ALSO_MAX = 12
WIDTH = 76


def escape(text):
    """Returns text that means itself in roff."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def prose(text):
    """Returns roff for the text of a comment: `code` and calls are bold, *words* are italic."""
    text = text.replace("\\", "\\e")
    text = re.sub(r"\*\*([^*]+)\*\*", r"\\fB\1\\fP", text)
    text = re.sub(r"(?<![\w*])\*([A-Za-z]+)\*(?!\w)", r"\\fI\1\\fP", text)
    text = re.sub(r"`([^`]+)`", r"\\fB\1\\fP", text)
    text = re.sub(r"\b((?:lanepool|LANEPOOL)_\w+)\(\)", r"\\fB\1\\fP(3)", text)
    text = re.sub(r"(?<=\. )docs/(\w+)\.md|^docs/(\w+)\.md", r"The page \\fI\1\2.md\\fP", text)
    text = re.sub(r"\bdocs/(\w+)\.md", r"the page \\fI\1.md\\fP", text)
    lines = textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)
    return re.sub(r"^([.'])", r"\\&\1", "\n".join(lines), flags=re.M)


def code(text):
    return ".EX\n" + escape(text) + "\n.EE\n"


def listed(rows):
    """Returns a list of (term, text)."""
    return "".join(".TP\n\\fB%s\\fP\n%s\n" % (escape(term), prose(text)) for term, text in rows)


class Page:
    def __init__(self, name, section, date, version):
        self.name, self.section = name, section
        self.text = '.TH "%s" %d "%s" "lanepool %s" "lanepool"\n' % (
            name.upper(), section, date, version)

    def add(self, title, body):
        self.text += ".SH %s\n%s" % (title, body if body.endswith("\n") else body + "\n")

    def write(self, folder):
        with open(os.path.join(folder, "man%d" % self.section, "%s.%d" % (self.name, self.section)),
                  "w", encoding="utf-8") as file:
            file.write(self.text)


def name_line(item, macros=()):
    brief = item.comment.brief.rstrip(".:;")
    brief = brief.replace("`", "").replace("*", "")
    names = ", ".join([item.name] + [macro.name for macro in macros])
    return "%s \\- %s\n" % (names, (brief[:1].lower() + brief[1:]).replace("\\", "\\e"))


def synopsis(item, macros=()):
    header = item.header
    library = "lanepool"
    if header.startswith("lanepool/remote"):
        library += "-remote"
    elif header.startswith("lanepool/adapters/"):
        library += "-" + os.path.basename(header)[:-2]
    else:
        header = "lanepool/lanepool.h"
    text = item.text
    if item.kind in ("struct", "enum"):
        text = "typedef %s %s %s;" % (item.kind, item.name, item.name)
        text += "".join("\n" + macro.form for macro in macros)
    elif item.is_call:
        lines, indent = [""], " " * 4
        head, _, rest = text.partition("(")
        lines = [head + "("]
        for one in rest.split(", "):
            if len(lines[-1]) + len(one) > WIDTH - 2:
                lines.append(indent)
            lines[-1] += ("" if lines[-1].endswith(("(", indent)) else " ") + one + ","
        text = "\n".join(lines).removesuffix(",")
    return ".nf\n.B #include <%s>\n\n%s\n.fi\n.PP\nLink with \\fB\\-l%s\\fP.\n" % (
        header, escape(text), escape(library))


def description(item):
    body = "\n.PP\n".join(prose(paragraph) for paragraph in item.comment.paragraphs) + "\n"
    rows = [(name, headers.comment_of_param(item, kind, name)) for kind, name in item.params]
    rows += [(member.text, member.comment) for member in item.members]
    return body + listed([row for row in rows if row[1]])


def other_status(comment):
    text = comment.returns.removeprefix("Otherwise ")
    return text[:1].upper() + text[1:]


def return_value(item):
    comment = item.comment
    if item.has_status:
        text = dict(comment.retvals).get("LANEPOOL_OK", "Success.")
        body = listed([("LANEPOOL_OK", text)])
        return body + ".TP\nAnother status\n%s\n" % prose(other_status(comment) or "See ERRORS.")
    if item.text.startswith("void "):
        return "None.\n"
    return prose(comment.returns or comment.brief) + "\n"


def errors(item):
    comment = item.comment
    rows = [row for row in comment.retvals if row[0] != "LANEPOOL_OK"]
    for status, addition in comment.also:
        text = headers.COMMON[status]
        rows.append((status, text[:-1] + " (%s)." % addition if addition else text))
    if rows:
        return listed(rows)
    if item.has_status:
        return prose(other_status(comment)) + "\n"
    return "None: the call cannot fail.\n"


def see_also(item, items, topics):
    text = " ".join(item.comment.paragraphs + [text for _, text in item.comment.retvals])
    names = re.findall(r"\b(lanepool_\w+)\(\)", text)
    names += [other.name for other in items if other.topic == item.topic and other.is_call]
    known = {other.name for other in items}
    names = [name for name in dict.fromkeys(names) if name != item.name and name in known]
    rows = ["\\fB%s\\fP(3)" % name for name in names[:SEE_ALSO_MAX]] + ["\\fBlanepool\\fP(7)"]
    return ",\n".join(rows) + "\n"


def add_example(page, sources, items):
    """Adds the example of the first of the items that has one."""
    for item in items:
        source, text = examples.example_of(sources, item.name)
        if text:
            page.add("EXAMPLE", prose("From %s:" % source) + "\n.PP\n" + code(text))
            return


def link_page(name, target, folder):
    """Makes a page another name of one, unless the file system takes both names for the same."""
    path = os.path.join(folder, "man3", name + ".3")
    if not os.path.exists(path):
        os.symlink(target + ".3", path)


def write_call(item, everything, folder, date, version):
    items, topics, sources = everything
    page = Page(item.name, 3, date, version)
    page.add("NAME", name_line(item))
    page.add("SYNOPSIS", synopsis(item))
    page.add("DESCRIPTION", description(item))
    page.add("RETURN VALUE", return_value(item))
    page.add("ERRORS", errors(item))
    page.add("THREADS", prose(item.comment.threads))
    page.add("COMPLEXITY", prose(item.comment.complexity))
    add_example(page, sources, [item])
    page.add("SEE ALSO", see_also(item, items, topics))
    page.write(folder)


def write_type(item, everything, folder, date, version):
    items, topics, sources = everything
    macros = headers.macros_of(item, items)
    page = Page(item.name, 3, date, version)
    page.add("NAME", name_line(item, macros))
    page.add("SYNOPSIS", synopsis(item, macros))
    page.add("DESCRIPTION", description(item))
    if macros:
        page.add("MACROS", listed((macro.form, " ".join(macro.comment.paragraphs))
                                  for macro in macros))
    if item.comment.returns:
        page.add("RETURN VALUE", prose(item.comment.returns))
    add_example(page, sources, [macro for macro in macros if macro.form != macro.name])
    page.add("SEE ALSO", see_also(item, items, topics))
    page.write(folder)
    for macro in macros:
        link_page(macro.name, item.name, folder)


def comment_of_file(project, name):
    """Returns the paragraphs of a header's own comment; list items are paragraphs."""
    with open(os.path.join(project, "include", "lanepool", name), encoding="utf-8") as file:
        text = re.search(r"/\*\*\n \* @file\n((?: \*(?!/).*\n)*)", file.read())[1]
    text = re.sub(r"^ \* ?", "", text, flags=re.M)
    return [headers.joined(part) for part in re.split(r"\n\s*\n|\n(?=- )", text) if part.strip()]


def write_overview(project, everything, folder, date, version):
    items, topics, sources = everything
    page = Page("lanepool", 7, date, version)
    about = comment_of_file(project, "lanepool.h")
    page.add("NAME", "lanepool \\- " + about[0].removeprefix("lanepool: ").rstrip(".") + "\n")
    page.add("SYNOPSIS", ".nf\n.B #include <lanepool/lanepool.h>\n.fi\n.PP\n"
             "Link with \\fB\\-llanepool\\fP.\n")
    page.add("DESCRIPTION", "\n.PP\n".join(map(prose, about[1:])))
    rules = comment_of_file(project, "status.h")[1:]
    page.add("RULES FOR ALL CALLS", "\n.PP\n".join(prose(rule.removeprefix("- "))
                                                   for rule in rules))
    body = ""
    for topic in topics.values():
        calls = [item for item in items if item.topic == topic.name and item.is_call]
        body += ".SS %s\n%s\n" % (topic.title, prose(topic.text))
        body += "".join(".TP\n\\fB%s\\fP(3)\n%s\n" % (item.name, prose(item.comment.brief))
                        for item in calls)
    page.add("CALLS", body)
    page.add("STATUSES", listed(("LANEPOOL_%s (%s)" % (name, value), text + ".") for name, value, text
                                in headers.statuses(os.path.join(project, "include"))))
    example = next(source for source in sources[0] if source.name == "demo/examples/striped.c")
    page.add("EXAMPLE", prose("From %s:" % example.name) + "\n.PP\n"
             + code("\n".join(example.lines).strip("\n")))
    pages = ""
    for path in sorted(glob.glob(os.path.join(project, "docs", "*.md"))):
        with open(path, encoding="utf-8") as file:
            title = file.readline().lstrip("# ").strip()
        pages += ".TP\n\\fI%s\\fP\n%s\n" % (os.path.basename(path), prose(title))
    page.add("PAGES", "The documentation has these pages, in the folder \\fIdocs\\fP of the source.\n"
             + pages)
    types = [item for item in items if item.kind in ("struct", "enum", "callback")]
    page.add("SEE ALSO", ",\n".join("\\fB%s\\fP(3)" % item.name for item in types) + "\n")
    page.write(folder)


def date_of(project):
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        seconds = max(os.path.getmtime(path) for path in glob.glob(
            os.path.join(project, "include", "lanepool", "*.h")))
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%d")


def main():
    project, folder, version = sys.argv[1:]
    items, topics, _ = headers.read_headers(os.path.join(project, "include"))
    everything = items, topics, examples.read_sources(project)
    for section in (3, 7):
        place = os.path.join(folder, "man%d" % section)
        os.makedirs(place, exist_ok=True)
        for old in glob.glob(os.path.join(place, "*.%d" % section)):
            os.remove(old)
    date = date_of(project)
    for item in items:
        if item.is_call:
            write_call(item, everything, folder, date, version)
        elif item.kind in ("struct", "enum", "callback"):
            write_type(item, everything, folder, date, version)
    write_overview(project, everything, folder, date, version)


if __name__ == "__main__":
    main()
