"""The places of C sources where an error can be planted, and the errors.

An operator names a sort of error. Where it applies, it yields (begin, end, replacement); the
replacement has as many line ends as the text it replaces, so that no other line moves.
"""
import collections
import random
import re

Mutant = collections.namedtuple("Mutant", "path line operator begin end replacement")

# Checks and planted errors of the project's own, and what does not exist in the tested builds.
OFF_LIMITS = re.compile(
    r"\bPLANTED|\w*ASSERT\w*\(|\bassert\(|MISUSE|_static_assert|__builtin_prefetch")
HIDDEN = re.compile(
    r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",
    re.S | re.M)

# No test on x86 could notice acq_rel or acquire instead of seq_cst. So every order becomes relaxed.
# A store in the total order becomes release, for the store buffers of the simulator. Operations that
# base/atomic.h does not have relaxed become what it has, or are left alone.
NOT_RELAXED = {
    "store_seq": "store_release", "exchange_seq": "exchange_acquire",
    "exchange_acq_rel": "exchange_acquire", "exchange_acquire": None,
    "fetch_and_seq": None, "fetch_and_acq_rel": None}
ATOMIC = re.compile(
    r"\b((?:load|store|exchange|cas|fetch_(?:add|sub|or|and))_)(seq|acq_rel|acquire|release)(?=\()")

# A call whose result nobody uses, alone on its line or lines.
STATEMENT = re.compile(r"^[ ]+(?:else )?(\w+)(\((?:[^;{}]*)\);)[ ]*$", re.M)
ASSIGNMENT = re.compile(
    r"^[ ]+((?:\*?\w+(?:\[[^\]\n]*\])?(?:->|\.))+\w+(?:\[[^\]\n]*\])? [-+|&]?= [^;{}]*;)[ ]*$",
    re.M)
STORE = re.compile(r"^(?:store|exchange|cas)_")
UNLOCKS = re.compile(r"_unlock(?:_|$)|^unlock_")
FREES = re.compile(r"(?:^|_)(?:free|fini|release|close|give|drop|dispose|unmake|destroy)(?:_|$)")
WAKES = re.compile(r"(?:^|_)(?:wake|post|notify|call|announce|attend|signal|pass_on)(?:_|$)")
FAILURE = re.compile(
    r"\{([^{}]*?)return (?:false|NULL|LANEPOOL_(?!OK\b)\w+|status|entered|failed)\s*;\s*\}")
BRANCH = re.compile(r"\bif \(")
COMPARISON = re.compile(r"(?<= )(?:<=?|>=?)(?= )")
OTHER_LIMIT = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
ONE = re.compile(r" [-+] 1(?=[;,)\]\s])")
CONNECTIVE = re.compile(r"(?<=\s)(?:&&|\|\|)(?=\s)|(?<= )[=!]=(?= )")
OTHER_CONNECTIVE = {"&&": "||", "||": "&&", "==": "!=", "!=": "=="}
BEGINS_STATEMENT = re.compile(r"(?:[;{}):]|\belse|\bdo)\s*\Z")


def visible(text):
    """The text with spaces instead of comments, literals, and lines of the preprocessor."""
    return HIDDEN.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)


def closing(text, begin):
    """The place behind the bracket that closes the one at `begin`; -1 if there is none."""
    depth = 0
    for at in range(begin, len(text)):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return -1


def nothing_for(text):
    """An empty statement with the line ends of the text."""
    return ";" + "\n" * text.count("\n")


def weaker_order(code):
    for found in ATOMIC.finditer(code):
        weaker = NOT_RELAXED.get(found[0], found[1] + "relaxed")
        if weaker is not None:
            yield found.start(), found.end(), weaker


def is_whole(code, found):
    """Returns true if the match begins a statement, and does not continue a longer one."""
    return BEGINS_STATEMENT.search(code, max(0, found.start() - 200), found.start())


def statements(code):
    """Calls without a use of their result: (name, begin, end)."""
    for found in STATEMENT.finditer(code):
        if is_whole(code, found) and found[1] not in ("if", "while", "for", "switch", "return"):
            yield found[1], found.start(1), found.end(2)


def dropped(code, wanted):
    return [(begin, end, nothing_for(code[begin:end]))
            for name, begin, end in statements(code) if wanted(name, begin)]


def failure_ranges(code):
    return [found.span(1) for found in FAILURE.finditer(code)]


def no_unlock(code):
    return dropped(code, lambda name, _: UNLOCKS.search(name))


def leak(code):
    return dropped(code, lambda name, _: FREES.search(name) and not STORE.search(name))


def lost_wake_up(code):
    return dropped(code, lambda name, _: WAKES.search(name))


def no_undo(code):
    ranges = failure_ranges(code)
    return dropped(code, lambda _, at: any(begin <= at < end for begin, end in ranges))


def no_call(code):
    return dropped(code, lambda name, _: True)


def no_assignment(code):
    for found in ASSIGNMENT.finditer(code):
        if is_whole(code, found):
            yield found.start(1), found.end(1), nothing_for(found[1])


def conditions(code):
    """The condition of each if, with its brackets."""
    for found in BRANCH.finditer(code):
        end = closing(code, found.end() - 1)
        if end > 0:
            yield found.end() - 1, end


def other_branch(code):
    for begin, end in conditions(code):
        yield begin, end, "(!%s)"


def off_by_one(code):
    for found in COMPARISON.finditer(code):
        yield found.start(), found.end(), OTHER_LIMIT[found[0]]
    for found in ONE.finditer(code):
        yield found.start(), found.end(), ""


def other_connective(code):
    """Leaves out a comparison that is a whole condition: that is another branch."""
    simple = [(begin, end) for begin, end in conditions(code)
              if len(CONNECTIVE.findall(code, begin, end)) == 1]
    for found in CONNECTIVE.finditer(code):
        if "=" in found[0] and any(begin < found.start() < end for begin, end in simple):
            continue
        yield found.start(), found.end(), OTHER_CONNECTIVE[found[0]]


OPERATORS = {operator.__name__: operator for operator in (
    weaker_order, no_unlock, leak, lost_wake_up, no_undo, no_call, no_assignment, other_branch,
    off_by_one, other_connective)}


def is_off_limits(lines, number):
    """A line of a check or of a planted error, or the one that depends on it."""
    before = lines[number - 2] if number > 1 else ""
    return OFF_LIMITS.search(lines[number - 1]) or re.search(r"\bPLANTED", before)


def mutants_of(path, text):
    """All mutants of one file. An error that two operators plant belongs to the first."""
    code = visible(text)
    lines = code.split("\n")
    seen = set()
    for name, operator in OPERATORS.items():
        for begin, end, replacement in operator(code):
            line = code.count("\n", 0, begin) + 1
            if "%s" in replacement:
                replacement %= text[begin:end]
            if (begin, end, replacement) in seen or is_off_limits(lines, line):
                continue
            seen.add((begin, end, replacement))
            yield Mutant(path, line, name, begin, end, replacement)


def planted(mutant, text):
    return text[:mutant.begin] + mutant.replacement + text[mutant.end:]


def changed_line(mutant, text):
    """The line of the mutant, and what it becomes."""
    return tuple(whole.split("\n")[mutant.line - 1].strip()
                 for whole in (text, planted(mutant, text)))


def draw(mutants, seed):
    """All mutants in a random order: each time an operator, then one of its places."""
    chance = random.Random(seed)
    places = collections.defaultdict(list)
    for mutant in mutants:
        places[mutant.operator].append(mutant)
    for left in places.values():
        chance.shuffle(left)
    while places:
        operator = chance.choice(sorted(places))
        yield places[operator].pop()
        if not places[operator]:
            del places[operator]
