"""Chapters of the lecture as the report shows them: prose, charts, formulas and tables.

The words come from ``data/report``, with placeholders for numbers. Each number is evaluated while the report is made.
"""

from __future__ import annotations

import io
import json
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.files import write
from roofslate.analysis.explain import Step, explain
from roofslate.display import style
from roofslate.display.html import Picture, embedded, formula, marked, plain_number, scaled, word
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled, read_grid
from roofslate.lecture_report import charts
from roofslate.lecture_report.claims import conclusions
from roofslate.lecture_report.identities import repeats_symbol
from roofslate.measured.stored import compute
from roofslate.plotting.plot import plot
from roofslate.presets.catalog import api_prices, models, storage
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries, lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from markupsafe import Markup
    from matplotlib.axes import Axes

__all__ = ["HANDED", "Album", "Section", "Writer"]

# Catalogs without a keyword in calls. The numbers of a preset become inputs as written.
HANDED = {"storage": storage, "api_prices": api_prices}
_DPI = 200  # of the PNG files
_NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Text:
    paragraphs: list[Markup]
    kind: str = "text"


@dataclass(frozen=True)
class Figure:
    picture: Picture
    number: str
    caption: list[Markup]
    file: str
    call: str
    kind: str = "figure"


@dataclass(frozen=True)
class Formula:
    name: str
    brief: str
    sides: str
    picture: Picture
    numbers: str
    result: str
    remark: str


@dataclass(frozen=True)
class Formulas:
    formulas: list[Formula]
    call: str
    kind: str = "formulas"


@dataclass(frozen=True)
class Table:
    caption: Markup
    head: list[tuple[Markup, str]]
    rows: list[tuple[Markup | str, list[str]]]
    corner: str
    kind: str = "table"


@dataclass(frozen=True)
class Section:
    id: str
    title: str
    blocks: list[Any]


class Album:
    """Pictures of a report, each drawn once, as files in a folder and for the page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._calls: dict[str, str] = {}  # of each file

    def name(self, stem: str, call: str) -> str:
        """Name the file of a call's picture, numbered if another call has that name."""
        name, count = stem, 1
        while self._calls.setdefault(name, call) != call:
            count += 1
            name = f"{stem}_{count}"
        return name

    def draw(
        self, draw: Callable[[Axes], Axes], size: tuple[float, float], name: str, alt: str, title: str | None
    ) -> Picture:
        """Draw a figure, write it as SVG and PNG, and give it to the page."""
        from matplotlib import rc_context
        from matplotlib.figure import Figure

        with style.house_style(), rc_context({"svg.hashsalt": name, "svg.fonttype": "path"}):
            figure = Figure(figsize=size)
            ax = draw(figure.subplots())
            if title is not None:
                style.title(ax, title)
            vector = io.BytesIO()
            figure.savefig(vector, format="svg", metadata={"Date": None, "Title": title or alt.partition(". ")[0]})
            figure.set_layout_engine("none")  # a second layout takes as long as drawing
            raster = io.BytesIO()
            figure.savefig(raster, format="png", dpi=_DPI)
        write(self.folder / f"{name}.svg", vector.getvalue())
        write(self.folder / f"{name}.png", raster.getvalue())
        return Picture(embedded(vector.getvalue()), alt, *(round(96 * side) for side in size))


class Writer:
    """Turns the content of a chapter's file into the blocks of the page.

    Attributes
    ----------
    symbols : list of str
        Quantities of the formulas on the page.
    presets : dict
        Presets behind its numbers, as (keyword, name), in the order of their first use.
    """

    def __init__(self, content: Mapping[str, Any], album: Album, advance: Callable[[], None]) -> None:
        self.cases: dict[str, dict[str, Any]] = content.get("case", {})
        self.numbers: dict[str, Any] = content.get("numbers", {})
        self.album = album
        self.advance = advance
        self.symbols: list[str] = []
        self.presets: dict[tuple[str, str], None] = {}
        self._charts: dict[str, dict[Any, Any]] = {}

    def section(self, content: Mapping[str, Any]) -> Section:
        numbers = {**self.numbers, **content.get("numbers", {})}
        blocks = []
        for block in content["block"]:
            make = next(
                getattr(self, f"make_{kind}")
                for kind in ("chart", "map", "formulas", "columns", "conclusions", "text")
                if kind in block
            )
            blocks.append(make(block, numbers))
            self.advance()
        return Section(content["id"], content["title"], blocks)

    def inputs(self, call: Mapping[str, Any]) -> dict[str, Any]:
        """Merge the inputs of a call into the inputs of its case."""
        case = self.cases[call["case"]]["inputs"] if "case" in call else {}
        inputs = _as_on_the_board({**case, **call.get("inputs", {})})
        for keyword in PRESETS:
            names = inputs.get(keyword, [])
            self.presets |= dict.fromkeys((keyword, name) for name in ([names] if isinstance(names, str) else names))
        for keyword, catalog in HANDED.items():
            if keyword in inputs:
                preset = catalog[inputs.pop(keyword)]
                self.presets[keyword, preset.name] = None
                inputs = {name: fact.written for name, fact in preset.facts.items()} | inputs
        return inputs

    # ---------------------------------------------------------------------------------------------------- words

    def prose(self, text: str, numbers: Mapping[str, Any], inputs: Mapping[str, Any] = _NOTHING) -> list[Markup]:
        """Paragraphs in which ``{name}`` is an input or one of the numbers."""

        def number(match: re.Match[str]) -> str:
            name = match[1]
            if name in inputs and name not in entries():  # of a simulation or a cipher
                given = inputs[name]
                return given if isinstance(given, str) else plain_number(given, int(match[2] or 4))
            call = {"quantity": name, "inputs": {name: inputs[name]}} if name in inputs else numbers[name]
            return self.number_text({**call, "digits": int(match[2])} if match[2] else call)

        def paragraph(words: str) -> Markup:
            return marked(re.sub(r"\{(\w+)(?::(\d))?\}", number, " ".join(words.split())))

        return [paragraph(words) for words in re.split(r"\n\s*\n", text.strip())]

    def number_text(self, call: Mapping[str, Any]) -> str:
        """Write the result of a call for a reader: scaled, or in the unit of the call."""
        digits = call.get("digits", 3)
        if "chart" in call:
            attrs, mark = self.chart_attrs(call["chart"], self.inputs(call)), call["mark"]
            return scaled(attrs["marks"][mark], attrs["units"][mark], digits)
        quantity = call["quantity"]
        if "." in quantity:
            unit = call.get("unit", "1")
            number = compute({**call, "unit": unit, "inputs": self.inputs(call)})
            return plain_number(number, digits) + ("" if unit == "1" else _spaced(unit))
        result: Any = value(quantity, Settled(_handed(call, self.inputs(call))))
        if isinstance(result, str):
            return word(result)
        if "unit" in call and math.isfinite(result):
            number = result / units.convert_factor(call["unit"], lookup(quantity).unit)
            return plain_number(number, digits) + _spaced(call["unit"])
        return scaled(result, lookup(quantity).unit, digits)

    def chart_attrs(self, name: str, inputs: dict[str, Any]) -> dict[Any, Any]:
        """Marks and units of a chart, computed once."""
        key = _call(name, None, inputs)
        if key not in self._charts:
            self._charts[key] = dict(charts.find(name).data(**inputs).attrs)
        return self._charts[key]

    def make_text(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> Text:
        return Text(self.prose(block["text"], numbers))

    # -------------------------------------------------------------------------------------------------- pictures

    def make_chart(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> Figure:
        """Draw a chart of the lecture, with its own paragraph or with the block's caption."""
        chart = charts.find(block["chart"])
        inputs = self.inputs(block)
        if "expert_reads" in inputs and not chart.takes("expert_reads", inputs):
            del inputs["expert_reads"]  # the board reads no experts
        caption = self.prose(block.get("caption") or chart.paragraph, numbers)
        call = _call(f"rs.charts.{chart.name}", None, inputs)
        stem = "_".join([chart.number, chart.name, *([block["case"]] if "case" in block else [])])
        name = self.album.name(stem, call + block.get("title", ""))
        alt = f"{block.get('title', chart.headline(inputs))}. {chart.brief}"
        picture = self.album.draw(lambda ax: chart(ax=ax, **inputs), chart.size, name, alt, block.get("title"))
        return Figure(picture, chart.number, caption, f"charts/{name}", call)

    def make_map(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> Figure:
        """Draw a quantity by two axes, with the regions of its bottlenecks."""
        axes: dict[str, Any] = {name: units.geomspace(*ends) for name, ends in block["axes"].items()}
        inputs = self.inputs(block)
        result = evaluate([block["map"], "bottleneck"], Settled({**inputs, **axes}))
        ranges = ", ".join(
            f"{axis}=rs.geomspace({ends[0]!r}, {ends[1]!r}, {ends[2]})" for axis, ends in block["axes"].items()
        )
        call = f"rs.plot({_call('rs.evaluate', [block['map'], 'bottleneck'], inputs)[:-1]}, {ranges}))"
        stem = "_".join([block["map"], *([block["case"]] if "case" in block else [])])
        name = self.album.name(stem, call + block["title"])
        alt = f"{block['title']}. {lookup(block['map']).brief}, with the regions of each bottleneck."
        picture = self.album.draw(lambda ax: plot(result, ax=ax), (6.4, 4.0), name, alt, block["title"])
        return Figure(picture, "", self.prose(block["caption"], numbers), f"charts/{name}", call)

    # -------------------------------------------------------------------------------------------------- formulas

    def make_formulas(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> Formulas:  # noqa: ARG002
        """Put the numbers of a case into formulas."""
        names = block["formulas"]
        inputs = self.inputs(block)
        steps: dict[str, Step] = {}
        for name in names:
            if name not in steps:
                steps |= {step.quantity.name: step for step in explain(name, Settled(inputs)).steps}
        for name in names:
            q = lookup(name)
            needs = q.needs if q.computed else lookup(str(q.fallback)).needs
            self.symbols += [name, *(need for need in needs if not lookup(need).choices)]
        return Formulas(
            [_stepped(steps[name], steps) for name in names], _call("rs.explain", names[0], _taken(names[0], inputs))
        )

    # ---------------------------------------------------------------------------------------------------- tables

    def make_columns(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> Table:
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
            for row, (_, varied) in zip(cells, rows, strict=True):
                row.append(self.cell(column, _handed(block, _as_on_the_board({**common, **varied, **given}))))
        caption = self.words(block["caption"], numbers, common)
        labels = [label for label, _ in rows]
        return Table(caption, head, list(zip(labels, cells, strict=True)), block.get("corner", "system"))

    def make_conclusions(self, block: Mapping[str, Any], numbers: Mapping[str, Any]) -> Table:
        """Make the table of the lecture's conclusions."""
        rows: list[tuple[Markup | str, list[str]]] = [
            (self.words(row["topic"], numbers, _NOTHING), [row["lecture"], "; ".join(row["computed"])])
            for row in conclusions().to_dict("records")
        ]
        head = [(self.words(label, numbers, _NOTHING), "") for label in ("the lecture", "computed")]
        return Table(self.words(block["conclusions"], numbers, _NOTHING), head, rows, "question")

    def words(self, text: str, numbers: Mapping[str, Any], inputs: Mapping[str, Any]) -> Markup:
        (words,) = self.prose(text, numbers, inputs)
        return words

    def cell(self, column: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
        if column.get("fits") and value("hbm_used", Settled(inputs)) > value("hbm_capacity", Settled(inputs)):  # type: ignore[operator]
            return "does not fit"
        return self.number_text({**column, "inputs": inputs})


def _taken(output: str, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Select the presets among inputs, and the other inputs of an output."""
    used = set(read_grid(Settled(inputs)).core.used([output]))
    return {name: x for name, x in inputs.items() if name in PRESETS or name in used}


def _as_on_the_board(inputs: dict[str, Any]) -> dict[str, Any]:
    """Let a published model read all weights in every pass, like the lecture."""
    supplied = models[inputs["model"]].facts if isinstance(inputs.get("model"), str) else {}
    counts_so = "expert_reads" in supplied or "experts" not in supplied
    return inputs if counts_so else {**inputs, "expert_reads": inputs.get("expert_reads", "all")}


def _handed(call: Mapping[str, Any], inputs: dict[str, Any]) -> dict[str, Any]:
    """Add computed inputs: ``through`` names the quantity for each."""
    return inputs | {name: value(source, Settled(inputs)) for name, source in call.get("through", {}).items()}


def _spaced(unit: str) -> str:
    """Unit after a number, without a blank before a percent sign."""
    return unit if unit == "%" else f"\N{NO-BREAK SPACE}{unit}"


def _label(case: Mapping[str, Any]) -> Markup:
    inputs = case["inputs"]
    return marked(case.get("label") or f"{inputs['model']}, {inputs['hardware']}")


def _call(function: str, first: Any, inputs: Mapping[str, Any]) -> str:
    """Write a call as a person types it."""
    given = [] if first is None else [json.dumps(first)]
    return f"{function}({', '.join([*given, *(f'{name}={json.dumps(x)}' for name, x in inputs.items())])})"


def _stepped(step: Step, steps: Mapping[str, Step]) -> Formula:
    """Write one formula with numbers, of an implied input the implying formula."""
    q = step.quantity
    if not q.computed:
        step = steps[str(q.fallback)]
    sides = step.latex if repeats_symbol(q.symbol, step.latex) else f"{q.symbol} = {step.latex}"
    picture = formula(sides, f"{q.name} = {step.formula}")
    numbers = step.substituted.replace(" * ", " × ").replace("inf", "∞")
    remark = "; ".join([*map(str, step.bindings), *step.choices])
    result = q.choices[int(step.value)] if q.choices else scaled(step.value, q.unit, 4)
    return Formula(q.name, q.brief, sides, picture, "" if numbers == result else numbers, result, remark)
