"""Reads the public headers: declarations, their comments and topics.

Used by manual.py (man pages), expand.py (input of Doxygen) and tests/build/documented.py.
"""
import dataclasses
import os
import re

# The statuses that mean the same in every call (lanepool/status.h), for @also.
COMMON = {
    "LANEPOOL_INVALID": "An argument is NULL.",
    "LANEPOOL_NOMEM": "No memory; nothing has changed. Try again later.",
    "LANEPOOL_NO_RESOURCE": "No thread, lock or descriptor; nothing has changed. Try again later.",
    "LANEPOOL_FORKED": "Called in a child of fork(): the pool belongs to the parent.",
    "LANEPOOL_DEADLOCK": "Called inside a callback; nothing has changed.",
    "LANEPOOL_UNSUPPORTED": "The pool does not offer this; see docs/features.md.",
}

# Parameters that mean the same in every call and callback (lanepool/status.h).
NAMES = {
    "wait_max_ns": "Nanoseconds; 0 does not wait, LANEPOOL_FOREVER waits without a limit.",
    "context": "Passed to the function; may be NULL.",
    "write": "Called for each piece of text.",
    "user": "The pool's `user` option.",
}

# Parameters that are a handle, or a task, and nothing more. The headers leave their comments out.
HANDLES = {
    "lanepool_task": "The task; read during the call only.",
    "lanepool_detached": "The handle.",
    "lanepool_run": "The call that this thread is in.",
    "lanepool_pool": "The pool.",
    "lanepool_future": "The future.",
    "lanepool_group": "The group.",
    "lanepool_pump": "The pump.",
    "lanepool_timer": "The handle.",
    "lanepool_sequence": "The sequence.",
    "lanepool_executor": "The executor.",
    "lanepool_lane": "The handle.",
    "lanepool_parked_tasks": "The list.",
    "lanepool_snapshot": "The snapshot.",
    "lanepool_trace_reader": "The reader.",
    "lanepool_times": "The added-up times.",
    "lanepool_replay": "The replay.",
    "lanepool_journal_check": "The check.",
    "lanepool_plan": "The plan.",
    "lanepool_remote": "The handle.",
    "lanepool_remote_run": "The call.",
}

# Calls that accept NULL as their handle.
ENDS = re.compile(r"_(release|destroy|destroy_now|trace_close)$")

# A reader's order of the headers; others follow.
ORDER = ["key.h", "task.h", "pool.h", "future.h", "check.h", "journal.h", "schedule.h",
         "sequence.h", "inspect.h", "replay.h", "plan.h", "remote.h", "remote_store.h",
         "status.h"]

TAG = re.compile(r"@(param|retval|return|also|threads|complexity)\b")


@dataclasses.dataclass
class Comment:
    """A comment, taken apart. Paragraphs and items are single lines of text."""
    line: int
    paragraphs: list = dataclasses.field(default_factory=list)
    params: dict = dataclasses.field(default_factory=dict)
    retvals: list = dataclasses.field(default_factory=list)  # (status, text)
    returns: str = ""
    also: list = dataclasses.field(default_factory=list)  # (status, addition)
    threads: str = ""
    threads_given: bool = False
    complexity: str = ""
    span: tuple = (0, 0)  # where it is in the header

    @property
    def brief(self):
        """The first sentence, up to a semicolon or colon."""
        first = re.match(r"(.*?)(?:[.:;](?= |$)|$)", self.paragraphs[0])[1]
        return first + "."


@dataclasses.dataclass
class Member:
    name: str
    text: str
    comment: str
    line: int


@dataclasses.dataclass
class Item:
    """A declaration."""
    kind: str  # function, inline, callback, struct, enum, handle, macro
    name: str
    text: str  # the declaration as in the header, without attributes
    comment: Comment
    header: str
    line: int
    topic: str
    params: list = dataclasses.field(default_factory=list)  # (type, name)
    members: list = dataclasses.field(default_factory=list)

    @property
    def is_call(self):
        return self.kind in ("function", "inline")

    @property
    def has_status(self):
        return self.is_call and self.text.startswith("lanepool_status ")

    @property
    def form(self):
        """How a macro is written, as in "LANEPOOL_TASK(...)"."""
        return re.match(r"#define (\w+(?:\([^)]*\))?)", self.text)[1]


@dataclasses.dataclass
class Topic:
    name: str
    title: str
    text: str


def joined(text):
    return re.sub(r"\s+", " ", text).strip()


def take_apart(text, line):
    """Returns the Comment for the text between the comment's marks."""
    text = re.sub(r"^[ \t]*\*(?!/) ?", "", text, flags=re.M)
    comment = Comment(line)
    starts = [match.start() for match in TAG.finditer(text)] + [len(text)]
    comment.paragraphs = [joined(part) for part in re.split(r"\n[ \t]*\n", text[:starts[0]])
                          if part.strip()]
    for begin, end in zip(starts, starts[1:]):
        tag, rest = re.match(r"@(\w+)\s*(.*)", joined(text[begin:end])).groups()
        if tag in ("param", "retval"):
            name, _, rest = rest.partition(" ")
            for one in name.split(","):
                if tag == "param":
                    comment.params[one] = rest
                else:
                    comment.retvals.append((one, rest))
        elif tag == "also":
            comment.also += [("LANEPOOL_" + status, addition) for status, addition
                             in re.findall(r"\b([A-Z_]+)\b(?: \(([^)]*)\))?", rest)]
        elif tag == "return":
            comment.returns = rest
        else:
            setattr(comment, tag, rest)
    return comment


def add_defaults(comment, runs):
    """Adds what lanepool/status.h says of calls that do not say otherwise."""
    comment.threads_given = bool(comment.threads)
    if not comment.threads:
        comment.threads = ("The thread of the call" if runs else "Any thread") + "; never blocks."
    comment.complexity = comment.complexity or "O(1)."


def split_parameters(text):
    """Returns (type, name) for each parameter of a declaration."""
    inside = text[text.index("(") + 1:text.rindex(")")]
    if inside.strip() in ("void", ""):
        return []
    return [re.match(r"(.*?)(\w+)$", joined(one)).groups() for one in inside.split(",")]


def text_of(comment):
    """Returns the words of a comment."""
    return joined(re.sub(r"^[ \t]*\* ?|^\s*/\*\*<?|\*/\s*$", "", comment, flags=re.M))


def name_of_member(text):
    for pattern in (r"\(\*(\w+)\)\(", r"(\w+)(?:\[\w+\])?$"):
        found = re.search(pattern, text)
        if found:
            return found[1]
    return ""


def members_of(body, kind, line):
    """Returns the members of a struct, or the constants of an enum; those of a union, too."""
    members, before = [], ""
    body = re.sub(r"^#.*$", "", body, flags=re.M)  # the table of statuses is read by statuses()
    body = re.sub(r"^.*_TABLE\(.*$", "", body, flags=re.M)
    for piece in re.finditer(r"(?P<comment>/\*(?:.|\n)*?\*/)|(?P<code>(?:[^/]|/(?!\*))+)", body):
        if piece["comment"]:
            if not piece["comment"].startswith("/**<"):
                before = text_of(piece["comment"])
            elif members:
                members[-1].comment = text_of(piece["comment"])
            continue
        code = re.sub(r"union \w*\s*{", lambda found: " " * len(found[0]), piece["code"])
        for part in re.finditer(r"(?:[^;,()]|\((?:[^()]|\([^()]*\))*\))+", code):
            text = joined(part[0]).lstrip("} ")
            if not text:
                continue
            if kind == "enum":
                text = text.split(" ")[0]
            begin = part.start() + len(part[0]) - len(part[0].lstrip())
            at = line + body.count("\n", 0, piece.start() + begin)
            members.append(Member(name_of_member(text), text, before, at))
            before = ""
    return members


DECLARATION = re.compile(r"""
    (?P<define>\#define[ ](?P<macro>\w+)(?:\\\n|[^\n])*)
  | (?P<inline>static[ ]inline[^{]*?)\n?\{(?:\n[ ].*|\n)*?\n\}
  | (?P<body>(?:typedef[ ])?(?P<what>struct|enum)[ ](?P<tag>\w+)[ ]\{(?P<inside>(?:.|\n)*?)\n\}[^;]*;)
  | (?P<callback>typedef[ ][^;{]*\(\*(?P<fn>\w+)\)\([^;]*\);)
  | (?P<handle>typedef[ ]struct[ ]\w+[ ](?P<opaque>\w+);)
  | LANEPOOL_API\s(?:LANEPOOL_MUST_CHECK\s)?(?P<function>[^;{]*\);)
""", re.X)


def read_source(source, name):
    """Returns (items, topics, bare) of one header's text; bare: (line, name) without a comment."""
    items, topics, bare = [], {}, []
    topic, place, comment, commented_to = "", 0, None, -1
    for match in re.finditer(r"/\*\*(?!<)(?P<comment>(?:.|\n)*?)\*/|" + "(?P<any>^(?=\\S))", source,
                             re.M):
        if match.start() < place:
            continue
        line = source.count("\n", 0, match.start()) + 1
        if match["comment"] is not None:
            text = match["comment"]
            group = re.search(r"@(defgroup|addtogroup) (\w+)[ ]?([^\n]*)", text)
            if group:
                topic = group[2]
                if group[1] == "defgroup":
                    words = re.sub(r"^[ \t]*\*(?!/) ?", "", text[group.end():], flags=re.M)
                    topics[topic] = Topic(topic, group[3].strip(), joined(words.replace("@{", "")))
            elif "@}" not in text and "@file" not in text:
                comment, commented_to = take_apart(text, line), match.end()
                comment.span = match.span()
            place = match.end()
            continue
        found = DECLARATION.match(source, match.start())
        if not found:
            continue
        if commented_to < 0 or source[commented_to:match.start()].strip():
            comment = None
        item = None
        if found["define"]:
            inner = re.search(r"/\*\*<((?:.|\n)*?)\*/", found[0])
            if inner:
                comment = take_apart(inner[1], line)
            text = re.sub(r"\s*/\*\*<(?:.|\n)*?\*/", "", found[0])
            item = Item("macro", found["macro"], text, comment, name, line, topic)
        elif found["inline"]:
            text = joined(found["inline"]).removeprefix("static inline ")
            fn = re.match(r".*?(\w+)\(", text)[1]
            item = Item("inline", fn, text + ";", comment, name, line, topic, split_parameters(text))
        elif found["body"]:
            inside_line = source.count("\n", 0, found.start("inside")) + 1
            item = Item(found["what"], found["tag"], found[0], comment, name, line, topic,
                        members=members_of(found["inside"], found["what"], inside_line))
        elif found["callback"]:
            text = joined(found[0])
            item = Item("callback", found["fn"], text, comment, name, line, topic,
                        split_parameters(text[text.index(")(") + 1:]))
        elif found["handle"]:
            item = Item("handle", found["opaque"], found[0], comment, name, line, topic)
        elif found["function"]:
            text = joined(found["function"])
            fn = re.match(r"[^(]*?(\w+)\(", text)[1]
            item = Item("function", fn, text, comment, name, line, topic, split_parameters(text))
        place = found.end()
        if item.is_call and item.comment:
            runs = bool(item.params) and "lanepool_run " in item.params[0][0]
            add_defaults(item.comment, runs)
        if item.kind == "macro" and item.name.endswith(("_H", "_ENUM", "_TABLE")):
            pass  # no part of the interface
        elif item.comment is None:
            bare.append((line, item.name))
        else:
            items.append(item)
        comment, commented_to = None, -1
    documented = {item.name for item in items}
    return items, topics, [row for row in bare if row[1] not in documented]


def read_headers(include):
    """Returns (items, topics, bare) of all public headers; bare: (header, line, name)."""
    items, topics, bare = [], {}, []
    folder = os.path.join(include, "lanepool")
    names = sorted((name for name in os.listdir(folder) if name.endswith(".h")),
                   key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    adapters = os.path.join(folder, "adapters")
    if os.path.isdir(adapters):
        names += sorted("adapters/" + name for name in os.listdir(adapters) if name.endswith(".h"))
    for name in names:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            some, more, without = read_source(file.read(), "lanepool/" + name)
        items += some
        topics.update(more)
        bare += [("lanepool/" + name, line, what) for line, what in without]
    return items, topics, bare


def macros_of(struct, items):
    """Returns the macros that make the struct: it is the first struct that they name."""
    structs = {item.name for item in items if item.kind == "struct"}
    macros = []
    for item in items:
        named = [name for name in re.findall(r"\blanepool_\w+", item.text) if name in structs]
        if item.kind == "macro" and named[:1] == [struct.name]:
            macros.append(item)
    return macros


def comment_of_param(item, kind, name):
    """The comment of a parameter, or the common one of its name or its type."""
    given = item.comment.params.get(name)
    if given:
        return given
    base = re.sub(r"\bconst\b|[* ]", "", kind)
    if kind.count("*") == 1 and base in HANDLES:
        ends = base != "lanepool_run" and ENDS.search(item.name)
        return HANDLES[base] + (" May be NULL, which does nothing." if ends else "")
    if item.kind == "callback" and name == "context":
        return "As given with the function."
    return NAMES.get(name, "")


def statuses(include):
    """Returns (name, value, text) of each status."""
    with open(os.path.join(include, "lanepool", "status.h"), encoding="utf-8") as file:
        return re.findall(r'X\((\w+), (\d+), "([^"]*)"\)', file.read())
