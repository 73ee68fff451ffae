"""The language of all text written by hand: terms to avoid, limits by kind of text, the shape of sentences and briefs.

A limit of a kind may fall and never rise, and the limits of a rule add up to its most at the highest. A failure lists
every hit of its rule, with file and line.
"""

from __future__ import annotations

import ast
import functools
import io
import json
import re
import sys
import tokenize
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Text(NamedTuple):
    """A paragraph, an item, a table row, a comment, a message or a brief, as one line."""

    kind: str
    path: str
    line: int
    text: str


KINDS = ("markdown", "notebook", "report", "brief", "python", "cpp", "tests")

# rule: pattern, the most of all kinds together, then the limit of each kind in the order of KINDS
RULES: dict[str, tuple[str, int, tuple[int, ...]]] = {
    "nominal what": (
        r"\b[Ww]hat (is|are|has|can|comes?|stands?|takes?|\w+ed)\b",
        15,
        (0, 0, 0, 0, 0, 5, 0),
    ),
    "any what": (r"\b[Ww]hat\b", 200, (7, 0, 0, 0, 20, 84, 15)),
    "told": (r"\b[Tt](ells?|old|elling)\b", 0, (0,) * 7),
    "beside": (r"\b[Bb]eside\b", 0, (0,) * 7),
    "that of": (r"\b(that|those) (of|with|by|from|in)\b", 25, (5, 0, 0, 0, 2, 3, 0)),
    "stands, lies": (r"\b(stands?|stood|lies|lie|lay)\b", 5, (0, 0, 0, 0, 0, 3, 0)),
    "ratio over": (r"\bover (the|that|those|its|their|what)\b", 20, (2, 0, 0, 0, 6, 8, 1)),
    "arithmetic": (r"(?<!IEEE )(?<!exact )(?<!interval )\b[Aa]rithmetic\b(?! intensity)", 0, (0,) * 7),
    "bare cache": (
        r"(?<!KV[ -])(?<!CPU )(?<!L[123] )(?<!prefix )(?<!Prefix )(?<!prompt )(?<!prompt-)\b[Cc]aches?\b(?! lines?\b)",
        0,
        (0,) * 7,
    ),
    "cell": (r"(?<!notebook )(?<!table )(?<!header )\bcells?\b", 0, (0,) * 7),
    "where for if": (r"([;,:] |^)[Ww]here\b", 20, (0, 0, 0, 0, 3, 5, 0)),
    "dangling verb": (r"\b(can|cannot|can't|will|does|holds?|has)(?=[.,;:]|$)", 5, (1, 0, 0, 0, 0, 0, 3)),
    "alone": (r"\balone\b", 5, (0,) * 7),
    "of its own": (r"\bof (one's|your|its|their|our|my) own\b", 10, (2, 0, 0, 0, 0, 1, 0)),
    "from X on": (r"\bfrom (which|(\S+ ){0,2}\S+) on\b", 0, (0,) * 7),
    "private words": (
        r"\bdear\b|without end|\bcomes? of\b|\btak(?:es?|en|ing) down\b|\bdoubts?\b|in the mean\b|\bas ever\b",
        0,
        (0,) * 7,
    ),
    "blank before %": (r"\d %", 0, (0,) * 7),
}

# rule of briefs: pattern, limit
BRIEFS: dict[str, tuple[str, int]] = {
    "over 70 characters": (r"^.{71}", 0),
    "that": (r"\b[Tt]hat\b", 0),
    "what": (r"\b[Ww]hat\b", 0),
    "ratio over": (r"\bover\b", 0),
    "colon": (r":", 0),
    "semicolon": (r";", 0),
    "wh-word first": (r"^(what|where|which|who|whose|when|how|why)\b", 0),
    "of ... of": (r"\bof\b[^,;:()]*\bof\b", 0),
    "lecture": (r"\b[Ll]ecture", 0),
}

EQUAL_BRIEFS = 0

# rule of first lines of docstrings: pattern, limit in the package and in the tests
FIRST_LINES: dict[str, tuple[str, int, int]] = {
    "over 88 characters": (r"^.{89}", 0, 0),
    "semicolon": (r";", 0, 0),
    "wh-word first": (r"^(What|Where|Which|Who|Whose|When|How|Why|Whether)\b", 0, 0),
}

# Names that say nothing of what they hold. Bindings of them in the package, the core and the tests.
VAGUE_NAME = re.compile(
    "found|told|kept|own|others|beside|taken|there|here|asked|wanted|made|held|left|room|place|way|whole|rest|apart"
    "|along"
)
VAGUE_BINDINGS = {"python": 0, "cpp": 0, "tests": 0}

# Most words in the mean sentence, most sentences above 25 words in 100, most ";" and ":" in 100 sentences.
SHAPE = {"words": 18, "long": 15, "semicolons": 3, "colons": 8}

# Written while the package or the site is built.
GENERATED = {
    ROOT / "docs" / "reference" / "quantities",
    ROOT / "python" / "roofslate" / "typing.py",
    ROOT / "python" / "roofslate" / "registry" / "reserved.py",
}
HERE = "tests/rules/test_language.py"  # quotes all patterns


# ------------------------------------------------------------------------------------------------------------ readers


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def files(folder: str, *endings: str) -> list[Path]:
    paths = [path for ending in endings for path in (ROOT / folder).glob(f"**/*{ending}")]
    return sorted(path for path in paths if relative(path) != HERE and GENERATED.isdisjoint([path, *path.parents]))


def blanked(match: re.Match[str]) -> str:
    """As many empty lines as the match has, so that line numbers stay."""
    return "\n" * match.group().count("\n")


def prose(text: str) -> str:
    """Return Markdown without code, comments, generated parts, formulas and targets of links."""
    for pattern in (
        r"\A---\n.*?\n---$",
        r"^( *)(```|~~~).*?^\1\2$",
        r"<!-- \w+: begin -->.*?<!-- \w+: end -->",
        r"<!--.*?-->",
        r"\$\$.*?\$\$",
    ):
        text = re.sub(pattern, blanked, text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"``[^`]*``|`[^`\n]*`", "X", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the text of each paragraph, item, heading and row of a table."""
    start = 0
    lines: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if lines and (
            not line.strip() or re.match(r"\s*([-*+] |\d+\. |\||#)", line) or lines[-1].startswith(("#", "|"))
        ):
            yield start, " ".join(lines)
            lines = []
        if line.strip():
            start = start if lines else number
            lines.append(line.strip())


def markdown_texts() -> Iterator[Text]:
    for path in [*ROOT.glob("*.md"), *files("docs", ".md"), *files(".github", ".md")]:
        for line, text in paragraphs(prose(path.read_text(encoding="utf-8"))):
            yield Text("markdown", relative(path), line, text)


def notebook_texts() -> Iterator[Text]:
    for path in files("notebooks", ".ipynb"):
        for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"], 1):
            if cell["cell_type"] == "markdown":
                for _, text in paragraphs(prose("".join(cell["source"]))):
                    yield Text("notebook", relative(path), number, text)


def words_in(value: object) -> Iterator[str]:
    """Yield the texts of at least four words in a value of TOML."""
    if isinstance(value, dict):
        for element in value.values():
            yield from words_in(element)
    elif isinstance(value, list):
        for element in value:
            yield from words_in(element)
    elif isinstance(value, str) and len(value.split()) > 3:
        yield value


def report_texts() -> Iterator[Text]:
    for path in files("python/roofslate/lecture_report/data", ".toml"):
        source = path.read_text(encoding="utf-8")
        for text in words_in(tomllib.loads(source)):
            line = source[: max(source.find(text[:20]), 0)].count("\n") + 1
            for _, paragraph in paragraphs(prose(text)):
                yield Text("report", relative(path), line, paragraph)


class Module(NamedTuple):
    """Comments, docstrings and messages of a file in Python, and the names that it binds, each with its line."""

    comments: list[tuple[int, str]]
    docstrings: list[tuple[int, str]]
    messages: list[tuple[int, str]]
    bindings: list[tuple[int, str]]


@functools.cache
def module(path: Path) -> Module:
    source = path.read_text(encoding="utf-8")
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = [(*token.start, token.string.lstrip("# ")) for token in tokens if token.type == tokenize.COMMENT]
    docstrings: dict[int, ast.Constant] = {}  # texts that are statements
    strings, bindings = [], []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg):
            bindings.append((node.lineno, node.arg))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bindings.append((node.lineno, node.id))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.append(node)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings[id(node.value)] = node.value
    messages = [(x.lineno, str(x.value)) for x in strings if id(x) not in docstrings and is_message(str(x.value))]
    return Module(list(joined(comments)), [(x.lineno, str(x.value)) for x in docstrings.values()], messages, bindings)


def joined(comments: Iterable[tuple[int, int, str]]) -> Iterator[tuple[int, str]]:
    """Yield comments (line, column, text) with those on neighboring lines and in one column as one."""
    start, last, column = 0, -1, -1
    parts: list[str] = []
    for line, indent, text in comments:
        if parts and (line != last + 1 or indent != column):
            yield start, " ".join(parts)
            parts = []
        start = start if parts else line
        last, column = line, indent
        parts.append(text)
    if parts:
        yield start, " ".join(parts)


def is_message(text: str) -> bool:
    return text.count(" ") > 1 and "\n" not in text.strip()


def python_texts(kind: str, folder: str) -> Iterator[Text]:
    for path in files(folder, ".py"):
        name, content = relative(path), module(path)
        for line, text in content.comments:
            yield Text(kind, name, line, re.sub(r"`[^`]*`", "X", text))
        for start, docstring in content.docstrings:
            examples = re.sub(r"^\s*(>>>|\.\.\. ).*$", "", docstring, flags=re.MULTILINE)
            for line, text in paragraphs(prose(examples)):
                yield Text(kind, name, start + line - 1, text)
        for line, text in content.messages:
            yield Text(kind, name, line, re.sub(r"\b\w+='[^']*'", "X", text))


STRING = r'"(?:[^"\\\n]|\\.)*"'
STRINGS = rf"{STRING}(?:\s*{STRING})*"
SPEC = re.compile(rf"\bSpec\(\s*({STRINGS})\s*,\s*({STRINGS})\s*,\s*({STRINGS})")


def unquoted(literals: str) -> str:
    return "".join(part[1:-1] for part in re.findall(STRING, literals))


def brief_texts() -> Iterator[Text]:
    for path in files("cpp/roofslate/quantities", ".hpp"):
        source = path.read_text(encoding="utf-8")
        for match in SPEC.finditer(source):
            yield Text("brief", relative(path), source.count("\n", 0, match.start(3)) + 1, unquoted(match.group(3)))


def cpp_texts() -> Iterator[Text]:
    for path in [*files("cpp", ".hpp", ".cpp"), *files("tests/cpp", ".hpp", ".cpp")]:
        source = path.read_text(encoding="utf-8")
        source = SPEC.sub(blanked, source)
        comments = []
        for match in re.finditer(rf"//(?P<comment>.*)|{STRINGS}", source):
            line = source.count("\n", 0, match.start()) + 1
            if match.group("comment") is not None:
                indent = match.start() - source.rfind("\n", 0, match.start())
                comments.append((line, indent, re.sub(r"`[^`]*`", "X", match.group("comment").strip())))
            elif is_message(unquoted(match.group())):
                yield Text("cpp", relative(path), line, unquoted(match.group()))
        for line, text in joined(comments):
            yield Text("cpp", relative(path), line, text)


@functools.cache
def texts() -> tuple[Text, ...]:
    return (
        *markdown_texts(),
        *notebook_texts(),
        *report_texts(),
        *brief_texts(),
        *python_texts("python", "python"),
        *cpp_texts(),
        *python_texts("tests", "tests"),
    )


def of_kind(kind: str) -> list[Text]:
    return [text for text in texts() if text.kind == kind]


def hits(pattern: str, candidates: Iterable[Text]) -> list[str]:
    """Return file, line and surroundings of every match."""
    return [
        f"{text.path}:{text.line}: {text.text[max(0, match.start() - 40) : match.end() + 40]}"
        for text in candidates
        for match in re.finditer(pattern, text.text)
    ]


def check(rule: str, matches: list[str], limit: int) -> None:
    if len(matches) > limit:
        pytest.fail("\n".join([f"{rule}: {len(matches)} hits, at most {limit} allowed", *matches]), pytrace=False)


# -------------------------------------------------------------------------------------------------------------- rules


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.each
def test_words(rule, kind):
    pattern, most, limits = RULES[rule]
    assert sum(limits) <= most
    check(f"{rule} in {kind}", hits(pattern, of_kind(kind)), limits[KINDS.index(kind)])


@pytest.mark.parametrize("rule", BRIEFS)
def test_briefs(rule):
    pattern, limit = BRIEFS[rule]
    check(f"briefs, {rule}", hits(pattern, of_kind("brief")), limit)


def test_equal_briefs():
    counts = Counter(text.text for text in of_kind("brief"))
    check("equal briefs", [text for text, count in counts.items() if count > 1], EQUAL_BRIEFS)


@pytest.mark.parametrize("folder", ["python", "tests"])
@pytest.mark.parametrize("rule", FIRST_LINES)
def test_first_lines_of_docstrings(rule, folder):
    pattern, *limits = FIRST_LINES[rule]
    lines = [
        Text(folder, relative(path), line, docstring.partition("\n")[0])
        for path in files(folder, ".py")
        for line, docstring in module(path).docstrings
    ]
    check(f"first lines in {folder}, {rule}", hits(pattern, lines), limits[folder == "tests"])


def python_bindings(folder: str) -> Iterator[str]:
    for path in files(folder, ".py"):
        for line, name in module(path).bindings:
            if VAGUE_NAME.fullmatch(name):
                yield f"{relative(path)}:{line}: {name}"


def cpp_bindings() -> Iterator[str]:
    declaration = re.compile(rf"(?:\bauto|\bconst|\w[>\]]?|[&*])[ ]?[&*]?\s({VAGUE_NAME.pattern})\s*[=;{{(:,)\[]")
    for path in [*files("cpp", ".hpp", ".cpp"), *files("tests/cpp", ".hpp", ".cpp")]:
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            code = re.sub(STRING, '""', line).partition("//")[0]
            yield from (
                f"{relative(path)}:{number}: {match}" for match in declaration.findall(code) if "return" not in code
            )


@pytest.mark.parametrize("kind", VAGUE_BINDINGS)
def test_names_of_locals(kind):
    bindings = list(cpp_bindings() if kind == "cpp" else python_bindings(kind))
    check(f"vague names in {kind}", bindings, VAGUE_BINDINGS[kind])


# ------------------------------------------------------------------------------------------------------ shape of pages


def sentences(text: str) -> list[str]:
    """Sentences of a paragraph or an item, without its marker and without the label in front of a colon."""
    text = re.sub(r"^([-*+]|\d+\.) ", "", text)
    text = re.sub(r"^(\*+[^*]+?):?(\*+):?|^(X|\[[^\]]*\]):", r"\1\2\3", text)
    return [each for each in re.split(r"(?<=[.!?])\**\s+(?=[^a-z])", text) if each]


@functools.cache
def sentences_of_pages() -> dict[str, list[str]]:
    pages: dict[str, list[str]] = {}
    for text in of_kind("markdown"):
        if not text.text.startswith(("#", "|")):
            pages.setdefault(text.path, []).extend(sentences(text.text))
    return pages


def test_sentences_are_short():
    """On each page: the mean, and the share of long ones."""
    faults = []
    for page, lines in sentences_of_pages().items():
        lengths = [len(line.split()) for line in lines]
        long = [line for line in lines if len(line.split()) > 25]
        if sum(lengths) > SHAPE["words"] * len(lines):
            faults.append(f"{page}: {sum(lengths) / len(lines):.1f} words in the mean sentence")
        if 100 * len(long) > SHAPE["long"] * len(lines):
            faults.extend(f"{page}: {line}" for line in long)
    check("long sentences", faults, 0)


@pytest.mark.parametrize(("name", "pattern"), [("semicolons", r";"), ("colons", r":(?= \S)")])
def test_sentences_have_one_idea(name, pattern):
    lines = [(page, line) for page, lines in sentences_of_pages().items() for line in lines]
    matches = [f"{page}: {line}" for page, line in lines for _ in re.findall(pattern, line)]
    check(name, matches, SHAPE[name] * len(lines) // 100)


def test_headings_name_the_content():
    headings = [text for text in of_kind("markdown") if text.text.startswith("#")]
    check("wh-words in headings", hits(r"^#+ (What|Where|Which|Who|Whose|When|How(?! to$)|Why|Whether)\b", headings), 0)


def test_how_tos_address_the_reader():
    """Second person and the imperative: 10 "you" or "your" in 1,000 words."""
    words = " ".join(text.text for text in of_kind("markdown") if text.path.startswith("docs/how-to/")).split()
    count = sum(bool(re.match(r"(?i)you(r|rs)?\b", word)) for word in words)
    assert 1000 * count >= 10 * len(words)


# ------------------------------------------------------------------------------------------------- the rules themselves


@pytest.mark.parametrize(
    ("rule", "hit", "miss"),
    [
        ("nominal what", "what is left", "what if"),
        ("told", "it is told below", "a told1"),
        ("that of", "that of a chip", "that a chip has"),
        ("ratio over", "price over the tokens", "over a grid"),
        ("arithmetic", "more arithmetic", "IEEE arithmetic, interval arithmetic, arithmetic intensity"),
        ("bare cache", "the cache", "KV cache, KV-cache size, prefix caches, L2 cache, cache lines"),
        ("cell", "price of the cell", "table cells"),
        ("where for if", "zero, where nothing runs", "the place where it runs"),
        ("dangling verb", "as far as it can.", "it can run"),
        ("from X on", "from 8 sequences on", "on a load"),
        ("private words", "taken down", "down"),
        ("blank before %", "93 %", "93%"),
    ],
)
def test_patterns(rule, hit, miss):
    assert re.search(RULES[rule][0], hit)
    assert not re.search(RULES[rule][0], miss)


PAGE = """---
title: front matter
---
# Head

One `code`
two.
- item

```text
code
```
| a | b |
<!-- table: begin -->
generated
<!-- table: end -->
"""


def test_readers():
    assert list(paragraphs(prose(PAGE))) == [(4, "# Head"), (6, "One X two."), (8, "- item"), (13, "| a | b |")]
    assert list(joined([(1, 0, "a"), (2, 0, "b"), (4, 0, "c")])) == [(1, "a b"), (4, "c")]
    assert sentences("- **Label:** one: two. Three") == ["**Label** one: two.", "Three"]
    assert {text.kind for text in texts()} == set(KINDS)
