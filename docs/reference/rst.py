"""Writes the reference of the public headers for the site: a page for each topic."""
import os
import re

import examples
import headers

# What the text of a comment can contain. Calls, pages and names of the interface become links.
TEXT = re.compile(r"`(?P<code>[^`]+)`|\*\*(?P<strong>[^*]+)\*\*|(?<![\w*])\*(?P<term>[A-Za-z]+)\*(?!\w)"
                  r"|\b(?P<call>(?:lanepool|LANEPOOL)_\w+)\(\)|\bdocs/(?P<page>[\w-]+)\.md"
                  r"|\b(?P<name>(?:lanepool|LANEPOOL)_\w+)")


class Writer:
    def __init__(self, project):
        self.include = os.path.join(project, "include")
        items, self.topics, _ = headers.read_headers(self.include)
        structs = {item.name for item in items if item.kind == "struct"}
        # A struct that is declared before its definition is no handle.
        self.items = [item for item in items if item.kind != "handle" or item.name not in structs]
        self.sources = examples.read_sources(project)
        self.statuses = headers.statuses(self.include)
        self.names = {item.name for item in self.items}
        self.names |= {member.name for item in self.items if item.kind == "enum"
                       for member in item.members}
        self.names |= {"LANEPOOL_" + name for name, _, _ in self.statuses}

    def topic_of_header(self, header):
        """The first topic of a header, as in "lanepool/key.h"."""
        for item in self.items:
            if item.header == header:
                return item.topic
        return None

    def prose(self, text):
        """Returns the text of a comment as reStructuredText."""
        out, place = "", 0
        for found in TEXT.finditer(text):
            out += escape(text[place:found.start()])
            place = found.end()
            if found["code"]:
                piece = "``%s``" % found["code"]
            elif found["strong"]:
                piece = "**%s**" % found["strong"]
            elif found["term"]:
                piece = "*%s*" % found["term"]
            elif found["page"]:
                piece = ":doc:`/%s`" % found["page"]
            elif found["call"] in self.names:
                piece = ":c:func:`%s`" % found["call"]
            elif found["name"] in self.names:
                piece = ":c:macro:`%s`" % found["name"]
            else:
                piece = "``%s``" % found[0]
            out += "\\ %s\\ " % piece  # otherwise a letter beside it would spoil the mark
        return (out + escape(text[place:])).replace("\\ \\ ", "\\ ").strip()

    def fields(self, item):
        """Returns the lines about the parameters, the answers and the rules of a call."""
        comment = item.comment
        rows = [("param " + name, headers.comment_of_param(item, kind, name))
                for kind, name in item.params]
        rows += [("retval " + status, text) for status, text in comment.retvals]
        for status, addition in comment.also:
            text = headers.COMMON[status]
            rows.append(("retval " + status,
                         text[:-1] + " (%s)." % addition if addition else text))
        rows.append(("returns", comment.returns))
        # The index of the reference has the rules for the others.
        rows.append(("threads", comment.threads if comment.threads_given else ""))
        rows.append(("complexity", comment.complexity if comment.complexity != "O(1)." else ""))
        return [":%s: %s" % (name, self.prose(text)) for name, text in rows if text]

    def example(self, item, link):
        name, text = examples.example_of(self.sources, item.name)
        if not text:
            return []
        return ["", ".. raw:: html", "", "   <details><summary>Example: %s</summary>" % name, "",
                ".. code-block:: c", "", *indented(text.split("\n")), "", *link(name),
                ".. raw:: html", "", "   </details>", ""]

    def declaration(self, item):
        if item.kind in ("struct", "enum"):
            return ".. c:%s:: %s" % (item.kind, item.name)
        if item.kind == "handle":
            return ".. c:struct:: " + item.name
        if item.kind == "macro":
            return ".. c:macro:: " + item.form
        if item.kind == "callback":
            return ".. c:type:: " + item.text.removeprefix("typedef ").rstrip(";")
        return ".. c:function:: " + item.text.rstrip(";")

    def members(self, item):
        if item.name == "lanepool_status":
            rows = [("LANEPOOL_%s = %s" % (name, value), text + ".")
                    for name, value, text in self.statuses]
        else:
            rows = [(member.text, sentence(member.comment)) for member in item.members]
        kind = "enumerator" if item.kind == "enum" else "member"
        for text, comment in rows:
            yield from ["", ".. c:%s:: %s" % (kind, text), "", "   " + self.prose(comment)]

    def write_item(self, item, link):
        body = [line for paragraph in item.comment.paragraphs for line in (self.prose(paragraph), "")]
        value = re.fullmatch(r"#define \w+ +(\S.*)", item.text) if item.kind == "macro" else None
        if value:
            body += ["Value: ``%s``" % value[1], ""]
        if item.is_call or item.params:
            body += self.fields(item)
        body += self.members(item)
        if item.is_call or item.kind == "macro":
            body += self.example(item, link)
        return [self.declaration(item), "", *indented(body), ""]

    def page_of(self, topic, link):
        """Returns the text of a topic's page. link(path) returns lines that lead to a program."""
        items = [item for item in self.items if item.topic == topic.name]
        lines = heading(topic.title, "=") + [self.prose(topic.text), ""]
        names = sorted({item.header for item in items})
        lines += ["In %s. See also :doc:`the rules for all calls <index>`." % " and ".join(
            "``<%s>``" % name for name in names), ""]
        calls = [item for item in items if item.is_call]
        if calls:
            lines += [".. list-table::", "   :widths: 40 60", "   :class: calls", ""]
            for item in calls:
                lines += ["   * - :c:func:`%s`" % item.name,
                          "     - " + self.prose(item.comment.brief)]
            lines.append("")
        for title, some in (("Calls", calls), ("Types and macros", [
                item for item in items if not item.is_call])):
            if some:
                lines += heading(title, "-")
                for item in some:
                    lines += self.write_item(item, link)
        return "\n".join(lines)


def escape(text):
    return re.sub(r"([\\*_|`])", r"\\\1", text)


def sentence(text):
    return text[:1].upper() + text[1:] + ("." if text and text[-1] not in ".!?" else "")


def indented(lines):
    return ["   " + line if line else "" for line in lines]


def heading(title, line):
    return [title, line * len(title), ""]
