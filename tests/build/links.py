#!/usr/bin/env python3
"""Checks that the links and pictures of HTML pages lead to files and anchors that exist.

    links.py <folder>
"""
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), []
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src", "data") and value:
                self.links.append(value)


def main():
    folder = sys.argv[1]
    pages = {os.path.join(place, name): Page(os.path.join(place, name))
             for place, _, names in os.walk(folder) for name in names if name.endswith(".html")}
    broken = set()
    for path, page in pages.items():
        name = os.path.relpath(path, folder)
        for link in page.links:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or link.startswith("//"):
                continue
            target = os.path.normpath(os.path.join(
                os.path.dirname(path), urllib.parse.unquote(parts.path))) if parts.path else path
            anchor = urllib.parse.unquote(parts.fragment)
            if not os.path.isfile(target):
                broken.add("%s links to %s, which does not exist" % (name, link))
            elif anchor and target in pages and anchor not in pages[target].anchors \
                    and "=" not in anchor:  # a page of laneview reads key=value by itself
                broken.add("%s links to %s, which has no such anchor" % (name, link))
    for line in sorted(broken):
        print(line)
    print("%d pages, %d links, %d broken" % (
        len(pages), sum(len(page.links) for page in pages.values()), len(broken)))
    if not pages or broken:
        sys.exit(1)


if __name__ == "__main__":
    main()
