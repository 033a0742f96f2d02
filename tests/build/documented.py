#!/usr/bin/env python3
"""Checks that everything in the public headers has a comment, and each call all that users need.

    documented.py <project>
"""
import os
import re
import sys


def problems_of_call(item, headers, known):
    comment = item.comment
    names = [name for _, name in item.params]
    for kind, name in item.params:
        if not headers.comment_of_param(item, kind, name):
            yield "parameter %s has no comment" % name
    for name in comment.params:
        if name not in names:
            yield "has no parameter %s" % name
    listed = [status for status, _ in comment.retvals + comment.also]
    for status in listed:
        if status not in known:
            yield "there is no %s" % status
        if listed.count(status) > 1:
            yield "%s is listed twice" % status
    if item.has_status and not listed and not comment.returns:
        yield "lists no status"
    if not item.has_status and listed:
        yield "lists statuses, and returns none"
    for _, also in [(0, status) for status, _ in comment.also]:
        if also not in headers.COMMON:
            yield "%s does not mean the same everywhere: it needs a @retval" % also
    if not comment.threads_given and ("wait_max_ns" in names or "LANEPOOL_DEADLOCK" in listed):
        yield "may wait, and has no @threads"


def main():
    project = sys.argv[1]
    sys.path.insert(0, os.path.join(project, "docs", "reference"))
    import headers
    items, topics, bare = headers.read_headers(os.path.join(project, "include"))
    known = {"LANEPOOL_" + name for name, _, _ in headers.statuses(os.path.join(project, "include"))}
    found = ["%s:%d: %s has no comment" % row for row in bare]
    for item in items:
        where = "%s:%d: %s" % (item.header, item.line, item.name)
        if not item.comment.paragraphs:
            found.append("%s has no comment" % where)
        if item.topic not in topics:
            found.append("%s is in no topic" % where)
        for member in item.members:
            if not member.comment:
                found.append("%s:%d: %s.%s has no comment" % (item.header, member.line, item.name,
                                                               member.name))
        if item.is_call:
            found += ["%s: %s" % (where, problem)
                      for problem in problems_of_call(item, headers, known)]
    folder = os.path.join(project, "include", "lanepool")
    for place, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(place, name), encoding="utf-8") as file:
                text = file.read()
            for page in re.findall(r"\bdocs/[\w/]+\.md", text):
                if not os.path.exists(os.path.join(project, page)):
                    found.append("%s names %s, which does not exist" % (name, page))
            if "@par " in text:
                found.append("%s: write @threads and @complexity for @par" % name)
    print("\n".join(sorted(found) + ["%d calls, %d other declarations, %d problems" % (
        sum(item.is_call for item in items), sum(not item.is_call for item in items), len(found))]))
    if found or not items:
        sys.exit(1)


if __name__ == "__main__":
    main()
