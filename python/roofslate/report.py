"""The lecture as a report: one page that works offline, the charts as files beside it, the answers as a table.

What a chapter says stands in ``data/report``: prose with places for numbers, and which charts, formulas and tables
stand where. Every number is evaluated while the report is made.
"""

from __future__ import annotations

import base64
import functools
import html
import io
import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.errors import ValueRangeError
from roofslate.evaluation import evaluate, value
from roofslate.explanation import Step, explain
from roofslate.progress import Progress
from roofslate.registry import lookup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import pandas as pd
    from markupsafe import Markup
    from matplotlib.axes import Axes

__all__ = ["lecture"]

_PAGE = "index.html"
_DPI = 200  # of the PNG files
_NEVER = "never"
_NOTHING: Mapping[str, Any] = {}
_LARGE = {"M": "million", "G": "billion", "T": "trillion"}  # weights, as people tell them


def lecture(
    out: str | os.PathLike[str] = "lecture",
    *,
    chapter: int | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
) -> Path:
    """Compute the lecture and write it as a page, with its charts and its answers as files beside it.

    Parameters
    ----------
    out : path-like
        Folder of the report; made where it is missing. Files of the same names in it are replaced, each as a whole.
    chapter : int, optional
        One chapter alone.
    progress : bool or callable, optional
        A bar from one second on where a person looks on; False for none; or a function of (done, total).

    Returns
    -------
    pathlib.Path
        The page, ``index.html``; beside it ``charts`` with an SVG and a PNG of each picture, and ``answers.csv``.

    Raises
    ------
    ValueRangeError
        If there is no such chapter.

    Examples
    --------
    >>> import roofslate as rs
    >>> page = rs.lecture("build/lecture")  # doctest: +SKIP
    """
    import jinja2

    told = _told(chapter)
    folder = Path(out)
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    total = 1 + sum(2 + _steps(content) for content in told)
    with Progress(progress) as bar:
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if bar.callback is not None:
                bar.callback(done, total)

        chapters = [_chapter(content, folder / "charts", advance) for content in told]
        symbols = dict.fromkeys(name for made in chapters for name in made.symbols)
        loader = jinja2.FileSystemLoader(Path(__file__).with_name("templates"))
        environment = jinja2.Environment(
            loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
        )
        environment.filters |= {"marked": _marked, "breakable": _breakable}
        page = environment.get_template("report.html.jinja").render(
            version=_version(),
            chapters=chapters,
            symbols=[
                _Symbol(lookup(name).unit, lookup(name).brief, name, _formula(lookup(name).symbol, name))
                for name in symbols
            ],
            facts=_facts(case for content in told for case in content["case"].values()),
        )
        _write(folder / "answers.csv", _csv(chapters))
        _write(folder / _PAGE, page.encode())
        advance()
    return folder / _PAGE


def _version() -> str:
    from roofslate import __version__

    return __version__


@functools.cache
def _chapter_files() -> dict[int, dict[str, Any]]:
    found = {}
    for path in sorted((Path(__file__).with_name("data") / "report").glob("chapter_*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        found[content["chapter"]] = content
    return found


def _told(chapter: int | None) -> list[dict[str, Any]]:
    """What the chapters say, all or one."""
    known = _chapter_files()
    if chapter is None:
        return list(known.values())
    if chapter not in known:
        raise ValueRangeError(f"chapter must be one of {', '.join(map(str, known))}, got {chapter!r}")
    return [known[chapter]]


def _sections(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [*content["section"], *content["left_out"]]


def _steps(content: Mapping[str, Any]) -> int:
    return sum(len(section["block"]) for section in _sections(content))


def _write(path: Path, content: bytes) -> None:
    """Write a file as a whole: a reader sees the old one or the new one."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


# --------------------------------------------------------------------------------------------- what the template sees


@dataclass(frozen=True)
class _Picture:
    """A picture within the page."""

    source: str
    alt: str
    width: float
    height: float
    depth: float = 0.0  # below the base line, of formulas


@dataclass(frozen=True)
class _Text:
    paragraphs: list[Markup]
    kind: str = "text"


@dataclass(frozen=True)
class _Figure:
    picture: _Picture
    number: str
    caption: list[Markup]
    file: str
    call: str
    kind: str = "figure"


@dataclass(frozen=True)
class _Formula:
    name: str
    brief: str
    picture: _Picture
    numbers: str
    result: str
    remark: str


@dataclass(frozen=True)
class _Formulas:
    formulas: list[_Formula]
    call: str
    kind: str = "formulas"


@dataclass(frozen=True)
class _Table:
    caption: Markup
    head: list[tuple[Markup, str]]
    rows: list[tuple[Markup | str, list[str]]]
    corner: str
    kind: str = "table"


@dataclass(frozen=True)
class _Section:
    id: str
    title: str
    blocks: list[Any]


@dataclass(frozen=True)
class _Symbol:
    unit: str
    brief: str
    name: str
    picture: _Picture


@dataclass
class _Chapter:
    number: int
    title: str
    time: str
    lead: list[Markup]
    sections: list[_Section]
    left_out: list[_Section]
    answers: pd.DataFrame
    inconsistencies: pd.DataFrame
    symbols: list[str] = field(default_factory=list)

    @property
    def id(self) -> str:
        return f"chapter-{self.number}"

    @property
    def held(self) -> int:
        return int((self.answers["verdict"] == "holds").sum())

    @property
    def systems(self) -> int:
        return int(self.answers["system"].nunique())

    def answer_rows(self) -> list[dict[str, str]]:
        """Answers as the page writes them."""
        return [
            {
                **{name: str(row[name]) for name in ("system", "question", "verdict", "quantity")},
                **{name: _plain_number(row[name]) for name in ("lecture", "ours")},
                "unit": "" if row["unit"] == "1" else row["unit"],
                "tolerance": _plain_number(100 * row["tolerance"]) + "\N{NO-BREAK SPACE}%",
            }
            for row in self.answers.to_dict("records")
        ]

    def inconsistency_rows(self) -> list[dict[Hashable, Any]]:
        """Inconsistencies as the page writes them."""
        return self.inconsistencies.reset_index(names="id").to_dict("records")


# ------------------------------------------------------------------------------------------------------------ chapters


def _chapter(content: dict[str, Any], folder: Path, advance: Callable[[], None]) -> _Chapter:
    from roofslate.checklist import answers
    from roofslate.register import inconsistencies

    teller = _Teller(content, folder, advance)
    number = content["chapter"]
    lead = teller.prose(content["lead"], content.get("numbers", {}))
    sections, left_out = ([teller.section(section) for section in content[part]] for part in ("section", "left_out"))
    checked = answers(number)
    advance()
    differing = inconsistencies(number)
    advance()
    return _Chapter(
        number, content["title"], content["time"], lead, sections, left_out, checked, differing, teller.symbols
    )


class _Teller:
    """Makes of what a chapter's file says what the page shows."""

    def __init__(self, content: dict[str, Any], folder: Path, advance: Callable[[], None]) -> None:
        self.cases: dict[str, dict[str, Any]] = content["case"]
        self.numbers: dict[str, Any] = content.get("numbers", {})
        self.folder = folder
        self.advance = advance
        self.symbols: list[str] = []

    def section(self, said: Mapping[str, Any]) -> _Section:
        numbers = {**self.numbers, **said.get("numbers", {})}
        blocks = []
        for block in said["block"]:
            make = next(
                getattr(self, f"make_{kind}")
                for kind in ("chart", "map", "formulas", "columns", "text")
                if kind in block
            )
            blocks.append(make(block, numbers))
            self.advance()
        return _Section(said["id"], said["title"], blocks)

    def inputs(self, call: Mapping[str, Any], *more: Mapping[str, Any]) -> dict[str, Any]:
        """Inputs of a call: those of its case, its own, and more."""
        case = self.cases[call["case"]]["inputs"] if "case" in call else {}
        found = {**case, **call.get("inputs", {})}
        for inputs in more:
            found |= inputs
        return found

    # ---------------------------------------------------------------------------------------------------- words

    def prose(self, text: str, numbers: Mapping[str, Any], inputs: Mapping[str, Any] = _NOTHING) -> list[Markup]:
        """Paragraphs in which ``{name}`` is an input or one of the numbers."""

        def number(match: re.Match[str]) -> str:
            name = match[1]
            call = {"quantity": name, "inputs": {name: inputs[name]}} if name in inputs else numbers[name]
            return self.said({**call, "digits": int(match[2])} if match[2] else call)

        def paragraph(words: str) -> Markup:
            return _marked(re.sub(r"\{(\w+)(?::(\d))?\}", number, " ".join(words.split())))

        return [paragraph(words) for words in re.split(r"\n\s*\n", text.strip())]

    def said(self, call: Mapping[str, Any], *more: Mapping[str, Any]) -> str:
        """What a call gives, as words have it: scaled, or in the unit that the call asks for."""
        digits = call.get("digits", 3)
        if "chart" in call:
            from roofslate import charts

            told = charts.find(call["chart"]).data(**self.inputs(call)).attrs
            return _scaled(told["marks"][call["mark"]], told["units"][call["mark"]], digits)
        quantity = call["quantity"]
        found = value(quantity, **self.inputs(call, *more))
        if isinstance(found, str):
            return _word(found)
        if "unit" in call and math.isfinite(found):
            number = found / units.convert_factor(call["unit"], lookup(quantity).unit)
            return f"{_plain_number(number, digits)}\N{NO-BREAK SPACE}{call['unit']}"
        return _scaled(found, lookup(quantity).unit, digits)

    def make_text(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> _Text:
        return _Text(self.prose(block["text"], numbers))

    # -------------------------------------------------------------------------------------------------- pictures

    def make_chart(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> _Figure:
        """Draw a chart of the lecture, with its own paragraph or with the block's caption."""
        from roofslate import charts

        chart = charts.find(block["chart"])
        inputs = self.inputs(block)
        caption = self.prose(block.get("caption") or chart.paragraph, numbers)
        name = "_".join([chart.number, chart.name, *([block["case"]] if "case" in block else [])])
        alt = f"{block.get('title', chart.title)}. {chart.brief}"
        picture = self.draw(lambda ax: chart(ax=ax, **inputs), chart.size, name, alt, block.get("title"))
        return _Figure(
            picture,
            chart.number,
            caption,
            f"charts/{name}",
            _call(f"rs.charts.{chart.name}", None, inputs),
        )

    def make_map(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> _Figure:
        """Draw a quantity over two axes, with the regions of what binds."""
        from roofslate.plotting import plot

        axes: dict[str, Any] = {name: units.geomspace(*ends) for name, ends in block["axes"].items()}
        inputs = self.inputs(block)
        result = evaluate([block["map"], "binding_term"], **inputs, **axes)
        name = f"{block['map']}_{block['case']}"
        alt = f"{block['title']}. {lookup(block['map']).brief}, with the regions of what takes longest."
        picture = self.draw(lambda ax: plot(result, ax=ax), (6.4, 4.0), name, alt, block["title"])
        ranges = ", ".join(
            f"{axis}=rs.geomspace({ends[0]!r}, {ends[1]!r}, {ends[2]})" for axis, ends in block["axes"].items()
        )
        call = _call("rs.evaluate", [block["map"], "binding_term"], inputs)
        return _Figure(
            picture,
            "",
            self.prose(block["caption"], numbers),
            f"charts/{name}",
            f"rs.plot({call[:-1]}, {ranges}))",
        )

    def draw(
        self, draw: Callable[[Axes], Axes], size: tuple[float, float], name: str, alt: str, title: str | None
    ) -> _Picture:
        """Draw a figure, write it as SVG and PNG, and give it to the page."""
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        from roofslate.charts import _draw

        with _draw.house_style(), rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            figure = Figure(figsize=size)
            ax = draw(figure.subplots())
            if title is not None:
                _draw.title(ax, title)
            vector = io.BytesIO()
            figure.savefig(vector, format="svg", metadata={"Date": None, "Title": title or alt.partition(". ")[0]})
            raster = io.BytesIO()
            figure.savefig(raster, format="png", dpi=_DPI)
        _write(self.folder / f"{name}.svg", vector.getvalue())
        _write(self.folder / f"{name}.png", raster.getvalue())
        return _Picture(_embedded(vector.getvalue()), alt, *(round(96 * side) for side in size))

    # -------------------------------------------------------------------------------------------------- formulas

    def make_formulas(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> _Formulas:  # noqa: ARG002
        """Put the numbers of a case into formulas."""
        wanted = block["formulas"]
        inputs = self.inputs(block)
        steps: dict[str, Step] = {}
        for name in wanted:
            if name not in steps:
                steps |= {step.quantity.name: step for step in explain(name, **inputs).steps}
        for name in wanted:
            q = lookup(name)
            needs = q.needs if q.computed else lookup(str(q.fallback)).needs
            self.symbols += [name, *(need for need in needs if not lookup(need).choices)]
        return _Formulas([_stepped(steps[name], steps) for name in wanted], _call("rs.explain", wanted[0], inputs))

    # ---------------------------------------------------------------------------------------------------- tables

    def make_columns(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> _Table:
        """Make a table: a row for each case, or for each of the block's own rows."""
        common = self.inputs(block)
        if "rows" in block:
            rows = [(self.words(row["label"], numbers, row["inputs"]), row["inputs"]) for row in block["rows"]]
        else:
            keys = block.get("cases", list(self.cases))
            rows = [(_label(self.cases[key]), self.cases[key]["inputs"]) for key in keys]
        head: list[tuple[Markup, str]] = []
        cells: list[list[str]] = [[] for _ in rows]
        for column in block["columns"]:
            given = column.get("inputs", {})
            head.append((self.words(column["label"], numbers, given), column["quantity"]))
            for made, (_, own) in zip(cells, rows, strict=True):
                scenario = {**common, **own, **given}
                # what the other columns start from: a quantity of the row, handed on as an input
                handed = {name: value(source, **scenario) for name, source in block.get("through", {}).items()}
                made.append(self.cell(column, scenario | handed))
        caption = self.words(block["caption"], numbers, common)
        labels = [label for label, _ in rows]
        return _Table(caption, head, list(zip(labels, cells, strict=True)), block.get("corner", "system"))

    def words(self, text: str, numbers: Mapping[str, Any], inputs: Mapping[str, Any]) -> Markup:
        (words,) = self.prose(text, numbers, inputs)
        return words

    def cell(self, column: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        if column.get("fits") and value("hbm_used", **inputs) > value("hbm_capacity", **inputs):  # type: ignore[operator]
            return "does not fit"
        return self.said({**column, "inputs": inputs})


def _label(case: Mapping[str, Any]) -> Markup:
    inputs = case["inputs"]
    return _marked(case.get("label") or f"{inputs['model']}, {inputs['hardware']}")


def _call(function: str, first: Any, inputs: Mapping[str, Any]) -> str:
    """Write a call as a person types it."""
    given = [] if first is None else [json.dumps(first)]
    return f"{function}({', '.join([*given, *(f'{name}={json.dumps(x)}' for name, x in inputs.items())])})"


# ------------------------------------------------------------------------------------------------------------- numbers


def _scaled(x: float, unit: str, digits: int = 3) -> str:
    """Number in base units as a sentence has it."""
    if math.isinf(x):
        return _NEVER
    text = units.format(x, unit, digits).replace(" / ", "/")
    if unit == "parameter":
        text = re.sub(r"[MGT]$", lambda match: f" {_LARGE[match[0]]}", text)
    return _superscript(text).replace(" ", "\N{NO-BREAK SPACE}")


def _plain_number(x: float, digits: int = 4) -> str:
    """Number in a unit that is told elsewhere."""
    if math.isinf(x):
        return _NEVER
    if 1e6 <= abs(x) < 1e9:
        return f"{float(f'{x:.{digits}g}'):,.0f}"
    return _superscript(units.Scale(1.0, "").text(x, digits))


def _superscript(text: str) -> str:
    """Write powers of ten as on paper."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    times = "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10"
    return re.sub(r"(?<=\d)e\+?(-?)0*(\d+)\b", lambda match: times + (match[1] + match[2]).translate(raised), text)


def _marked(words: str) -> Markup:
    """Words as HTML: backticks are code, stars emphasis, ``[words](#place)`` a link; quotes as they are printed."""
    from markupsafe import Markup

    def plain(text: str) -> str:
        text = re.sub(r"(?<=[\w.,])'", "\N{RIGHT SINGLE QUOTATION MARK}", text)
        text = re.sub(r"(\$[\d.,]+\w*) / ", r"\1/", text)
        text = re.sub(r'"([^"]*)"', "\N{LEFT DOUBLE QUOTATION MARK}\\1\N{RIGHT DOUBLE QUOTATION MARK}", text)
        text = html.escape(_superscript(text), quote=False)
        text = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)
        return re.sub(r"\[([^\]]+)\]\((#[\w-]+)\)", r'<a href="\2">\1</a>', text)

    parts = words.split("`")
    return Markup(
        "".join(f"<code>{html.escape(part)}</code>" if k % 2 else plain(part) for k, part in enumerate(parts))
    )


def _breakable(name: str) -> Markup:
    """Let a long name break after its underscores."""
    from markupsafe import Markup

    return Markup(html.escape(name).replace("_", "_<wbr>"))


def _word(choice: str) -> str:
    return choice.replace("_", " ").replace("kv", "KV")


def _facts(cases: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Presets of the cases, what a reader should know of them, and which of their numbers come from where."""
    from roofslate.inputs import PRESETS, find_preset

    used = [case["inputs"] for case in cases]
    found = []
    for keyword in PRESETS:
        for name in dict.fromkeys(inputs[keyword] for inputs in used if keyword in inputs):
            preset = find_preset(keyword, name)
            sources: dict[str, list[str]] = {}
            for quantity, fact in preset.facts.items():
                source = f"{fact.source}, {fact.date}{'' if fact.read else ' (recalled)'}"
                sources.setdefault(source, []).append(f"`{quantity}` {fact}")
            found.append((preset.name, preset.note, [(source, ", ".join(told)) for source, told in sources.items()]))
    return found


def _csv(chapters: Sequence[_Chapter]) -> bytes:
    import pandas as pd

    table = pd.concat([made.answers for made in chapters], ignore_index=True)
    table["inputs"] = table["inputs"].map(json.dumps)
    return table.to_csv(index=False).encode()


# ------------------------------------------------------------------------------------------------------------ formulas


def _stepped(step: Step, steps: Mapping[str, Step]) -> _Formula:
    """One formula with numbers in it; for an input that follows from another quantity, the formula of that one."""
    q = step.quantity
    if not q.computed:
        step = steps[str(q.fallback)]
    picture = _formula(f"{q.symbol} = {step.latex}", f"{q.name} = {step.formula}")
    numbers = step.substituted.replace(" * ", " × ").replace("inf", "∞")
    remark = "; ".join([*map(str, step.bindings), *step.choices])
    result = q.choices[int(step.value)] if q.choices else _scaled(step.value, q.unit, 4)
    return _Formula(q.name, q.brief, picture, "" if numbers == result else numbers, result, remark)


@functools.lru_cache(maxsize=512)
def _formula(latex: str, alt: str) -> _Picture:
    """Typeset a formula; sides are in em."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    points = 10.0
    # mathtext wants what stands alone after a font's name in braces
    text = "$" + re.sub(r"\\math(\w+) (\w)", r"\\math\1{\2}", latex).replace(r"\frac", r"\dfrac") + "$"
    with rc_context({"mathtext.fontset": "stix", "svg.hashsalt": latex, "svg.fonttype": "path"}):
        font = FontProperties(size=points)
        width, height, depth, *_ = MathTextParser("path").parse(text, dpi=72, prop=font)
        width, height, depth = width + 1, height + 2, depth + 1  # room for what overhangs
        figure = Figure(figsize=(width / 72, height / 72))
        figure.text(0.5 / width, depth / height, text, fontproperties=font, color="#1a1a1a")
        vector = io.BytesIO()
        figure.savefig(vector, format="svg", transparent=True, metadata={"Date": None})
    em = tuple(round(side / points, 3) for side in (width, height, depth))
    return _Picture(_embedded(vector.getvalue()), alt, *em)


def _embedded(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
