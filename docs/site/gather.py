#!/usr/bin/env python3
"""Copies the Markdown pages to where readers find them, and adapts their links.

    gather.py site <project> <folder> [<page of a recording>]
    gather.py installed <project> <folder>

For the site: the input of Sphinx, with the reference of the headers. Pages lie flat, so that their
addresses are short. A link to a file that is no page leads to a page with the file's text, and one
to a header to the reference. A picture is a link to itself.

To be installed: README.md, and in docs/ the pages with their pictures, CHANGELOG.md as changes.md.
Links lead to the installed
programs. A link to a file that is not installed becomes plain text.
"""
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import headers  # noqa: E402
import rst  # noqa: E402

RECORDING = """Task 8 is chosen here, and the panel says what it waited for. Zoom by the wheel, search by `/`.

<iframe class="recording" src="recording.html#task=8" title="A recorded run"></iframe>

<a href="recording.html">The page by itself</a>"""
NO_RECORDING = "Here it is missing: laneview was not built with this site."
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sql": "sql", ".sh": "sh",
             ".yaml": "yaml", ".yml": "yaml"}
# The pages below a page, in the order of the navigation. Those of the first level are in index.md.
BELOW = {
    "docs/guide.md": ["features", "waiting", "limits", "priorities", "delays", "deadlines", "contexts",
                      "cuts", "failures", "endings", "shutdown", "sequences", "fork", "journal",
                      "inspecting", "plan", "seeds"],
    "docs/remote.md": ["remote-postgresql"],
    "docs/production.md": ["packaging", "abi", "security"],
    "docs/laneview.md": ["latches"],
    "docs/ledgerbatch.md": ["ledgerbatch-days", "ledgerbatch-rules", "ledgerbatch-journals",
                            "ledgerbatch-steps", "ledgerbatch-machines"],
    "docs/benchmarks.md": ["bench"],
    "docs/architecture.md": ["concurrency", "phases", "orders", "models"],
    "docs/testing.md": ["situations"],
    "docs/decisions/README.md": [":glob:", "0*"],
}  # fmt: skip
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]*)\)")


def pages_of(project, folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(os.path.join(project, folder))
                  if name.endswith(".md"))


def pictures_of(project):
    return sorted("docs/%s/%s" % (folder, name) for folder in os.listdir(os.path.join(project, "docs"))
                  if os.path.isdir(os.path.join(project, "docs", folder))
                  for name in os.listdir(os.path.join(project, "docs", folder))
                  if name.endswith((".svg", ".png")))


def read(project, path):
    with open(os.path.join(project, path), encoding="utf-8") as file:
        return file.read()


class Place:
    """Where files of the project go. Subclasses fill `places`: path in the project -> new path."""

    def __init__(self, project, folder):
        self.project, self.folder = project, folder
        self.places = {}

    def write(self, path, text):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def copy(self, source):
        path = os.path.join(self.folder, self.places[source])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(os.path.join(self.project, source), path)

    def find(self, path):
        """Returns the new path of a file or folder; None if a reader does not have it."""
        return self.places.get(path)

    def picture(self, text, target):
        return "![%s](%s)" % (text, target)

    def link(self, page, found):
        """Returns what replaces a link of a page."""
        text, (path, hash_, heading) = found["text"], found["target"].partition("#")
        if re.match(r"\w+:", path) or not path:
            return found[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), path))
        place = self.find(path)
        if not place:
            if path in text:
                return text
            return "`%s`" % path if path.endswith(text.strip("`")) else "%s (`%s`)" % (text, path)
        target = os.path.relpath(place, os.path.dirname(self.places[page]) or ".")
        if found["picture"]:
            return self.picture(text, target)
        return "[%s](%s%s%s)" % (text, target, hash_, heading)

    def write_page(self, page, after=""):
        parts = re.split(r"(^```.*?^```[^\n]*$)", read(self.project, page), flags=re.M | re.S)
        for number in range(0, len(parts), 2):
            parts[number] = LINK.sub(lambda found: self.link(page, found), parts[number])
        self.write(self.places[page], "".join(parts) + after)


class Installed(Place):
    def __init__(self, project, folder):
        super().__init__(project, folder)
        self.pages = ["README.md", "CHANGELOG.md", *pages_of(project, "docs"),
                      *pages_of(project, "docs/decisions")]
        self.places = {path: path for path in self.pages + pictures_of(project)}
        self.places.update({"docs/decisions": "docs/decisions", "CHANGELOG.md": "docs/changes.md"})
        for source, place in (("demo/examples", "examples"), ("demo/tutorial", "examples/tutorial")):
            self.places[source] = place
            for name in os.listdir(os.path.join(project, source)):
                if name.endswith((".c", ".cpp", ".out")):
                    self.places[source + "/" + name] = place + "/" + name

    def write_all(self):
        for page in self.pages:
            self.write_page(page)
        for picture in pictures_of(self.project):
            self.copy(picture)


class Site(Place):
    def __init__(self, project, folder, recording):
        super().__init__(project, folder)
        self.recording = recording
        self.reference = rst.Writer(project)
        self.sources = set()  # files that pages link to
        self.places = {"README.md": "about.md", "CHANGELOG.md": "changes.md", "docs/README.md": "pages.md",
                       "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md",
                       "tests/SCENARIOS.md": "situations.md", "tests/bench/README.md": "bench.md",
                       "docs/decisions/README.md": "decisions/index.md"}  # fmt: skip
        for folder_of in ("docs", "docs/site", "docs/decisions"):
            for page in pages_of(project, folder_of):
                self.places.setdefault(page, page.removeprefix("docs/").removeprefix("site/"))
        for picture in pictures_of(project):
            self.places[picture] = "pictures/" + picture.removeprefix("docs/").replace("/", "-")
        self.pages = [path for path in self.places if path.endswith(".md")]
        self.places.update({"include/lanepool": "reference/index.rst", "demo/examples": "examples.md",
                            "demo/tutorial": "tutorial.md", "docs/decisions": "decisions/index.md"})  # fmt: skip

    def find(self, path):
        if path in self.places or not os.path.isfile(os.path.join(self.project, path)):
            return self.places.get(path)
        topic = self.reference.topic_of_header(path.removeprefix("include/"))
        if topic:
            return "reference/%s.rst" % topic
        self.sources.add(path)
        return "source/%s.md" % path

    def picture(self, text, target):
        # Sphinx puts pictures there.
        shown = os.path.join(os.path.dirname(target), "..", "_images", os.path.basename(target))
        return '<a class="picture" href="%s">![%s](%s)</a>' % (
            os.path.normpath(shown), headers.joined(text), target)

    def write_source(self, path):
        name = os.path.basename(path)
        language = LANGUAGES.get(os.path.splitext(path)[1], "text")
        self.write("source/%s.md" % path, "---\norphan: true\n---\n\n# %s\n\n`%s`\n\n~~~~~~%s\n%s\n~~~~~~\n" % (
            name, path, language, read(self.project, path).rstrip("\n")))

    def write_reference(self):
        def link(path):
            if os.path.splitext(path)[1] != ".c":
                return []
            self.sources.add(path)
            return [":doc:`%s </source/%s>`" % (path, path), ""]

        lines = rst.heading("Reference", "=")
        lines += ["The public headers by topic. Unless a call says otherwise, any thread may make it, "
                  "it never blocks, and it takes O(1). A call with a ``lanepool_run`` is for the "
                  "thread that runs the task.", "",
                  ":ref:`Everything by name <genindex>`", "", ".. toctree::", "   :maxdepth: 1", ""]  # fmt: skip
        for topic in self.reference.topics.values():
            lines.append("   " + topic.name)
            self.write("reference/%s.rst" % topic.name, self.reference.page_of(topic, link))
        self.write("reference/index.rst", "\n".join(lines) + "\n")

    def check_gallery(self):
        """Every picture is in the gallery."""
        shown = {os.path.normpath("docs/site/" + found["target"]) for found in LINK.finditer(
            read(self.project, "docs/site/gallery.md"))}
        missing = [path for path in pictures_of(self.project) if path not in shown]
        if missing:
            sys.exit("docs/site/gallery.md lacks " + ", ".join(missing))

    def write_all(self):
        self.check_gallery()
        self.write_reference()
        for page in self.pages:
            below = "\n".join(BELOW.get(page, ()))
            self.write_page(page, "\n```{toctree}\n:hidden:\n%s\n```\n" % below if below else "")
        for path in sorted(self.sources):
            self.write_source(path)
        for picture in pictures_of(self.project):
            self.copy(picture)
        gallery = os.path.join(self.folder, "gallery.md")
        text = read(self.folder, "gallery.md").replace(
            "<!-- recording -->", RECORDING if self.recording else NO_RECORDING)
        self.write(gallery, text)


def main():
    kind, project, folder, *recording = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    if kind == "installed":
        Installed(project, folder).write_all()
    else:
        Site(project, folder, bool(recording)).write_all()


if __name__ == "__main__":
    main()
