"""Example and plot of each computed quantity, for the reference: the values worked out by hand, evaluated again."""

import html
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import roofslate as rs
from roofslate import units
from roofslate._base.toml import read_data
from roofslate.registry.registry import entries

Values = npt.NDArray[np.float64]
CASES = Path(__file__).parents[1] / "tests" / "reference"
LINES = 4  # as many inputs as can be told apart
FACTORS = np.geomspace(0.1, 10, 41)
WIDTH, HEIGHT, LEFT, TOP = 420, 180, 76, 12


def add_examples(theme: str, page: str) -> str:
    """Append to each entry of a page of the reference what it gives for one case, and what moves that."""
    cases = read_data(CASES / f"{theme}.toml")
    parts = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    for k, part in enumerate(parts):
        name = part.partition("\n")[0].removeprefix("## ")
        if name in cases and entries()[name].computed:
            parts[k] = f"{part.rstrip()}\n\n{example(name, first_without_ballast(name, cases[name]))}\n\n"
    return "".join(parts)


def first_without_ballast(name: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """The first case in which every input has an effect."""
    for case in cases:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", rs.errors.UnusedInput)
                rs.value(name, **case["inputs"])
        except (rs.errors.IneffectiveInput, rs.errors.UnusedInput):
            continue
        return case
    raise LookupError(f"{name}: add a row to tests/reference in which every input has an effect")


def example(name: str, case: dict[str, Any]) -> str:
    """The call, what it gives, how a person finds the same, and a plot where an input can be moved."""
    given = "".join(f", {key}={value!r}" for key, value in case["inputs"].items())
    value: float | str = rs.value(name, **case["inputs"])
    unit = entries()[name].unit
    printed = value if isinstance(value, str) else units.format(value, unit)
    text = f'```python\nrs.value("{name}"{given})  # {printed}\n```\n\nBy hand: `{case["how"]}`.'
    moved = {key: y for key, x in case["inputs"].items() if (y := moving(name, key, x, case["inputs"])) is not None}
    if isinstance(value, str) or not np.isfinite(value) or not moved:
        return text
    largest = sorted(moved, key=lambda key: -np.ptp(moved[key]))[:LINES]
    return f"{text}\n\n{plot(name, unit, {key: moved[key] for key in moved if key in largest})}"


def moving(name: str, key: str, x: Any, inputs: dict[str, Any]) -> Values | None:
    """Values of the quantity for a tenth to ten times an input; None where that can't be, or has no say."""
    q = entries().get(key)
    if q is None or q.choices:
        return None
    axis = units.to_base(x, q.unit) * FACTORS
    inside = np.where((axis >= q.low) & (axis <= q.high), axis, np.nan)
    allowed = np.isfinite(inside)
    if axis[0] == axis[-1] or allowed.sum() < 2:
        return None
    try:
        values = rs.evaluate(name, **{**inputs, key: axis[allowed]}).to_numpy()
    except rs.errors.RoofslateError:  # such as a list of expert counts that must be whole numbers
        return None
    if values.ndim != 1:
        return None
    found = np.full(len(axis), np.nan)
    found[allowed] = np.where(np.isfinite(values), values, np.nan)
    return found if np.isfinite(found).sum() > 1 and np.nanmax(found) > np.nanmin(found) else None


def plot(name: str, unit: str, lines: dict[str, Values]) -> str:
    """An SVG in the colours of the page: the quantity against the factor on each input."""
    values = np.concatenate(list(lines.values()))
    low, high = np.nanmin(values), np.nanmax(values)
    logarithmic = low > 0 and high > 3 * low
    shown = np.log if logarithmic else np.asarray

    def place(y: float) -> Any:
        return TOP + HEIGHT * (shown(high) - shown(y)) / (shown(high) - shown(low))

    middle = np.sqrt(low * high) if logarithmic else (low + high) / 2
    words = f"{name} where one input is a tenth to ten times that of the example: {', '.join(lines)}"
    box = f"0 0 {LEFT + WIDTH + 20} {TOP + HEIGHT + 28}"
    svg = [
        # not a title element: what highlights searched words takes it for a text that it can draw around
        f'<svg class="plot" role="img" aria-label="{html.escape(words)}" viewBox="{box}">',
        f'<path class="frame" d="M{LEFT} {TOP}v{HEIGHT}h{WIDTH}"/>',
    ]
    for y in (low, middle, high):
        told = html.escape(units.format(float(y), unit, 3))
        svg.append(f'<text x="{LEFT - 6}" y="{place(y) + 4:.1f}" text-anchor="end">{told}</text>')
    for share, told in ((0, "× 0.1"), (0.5, "× 1"), (1, "× 10")):
        svg.append(f'<text x="{LEFT + share * WIDTH}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{told}</text>')
    for k, y in enumerate(lines.values()):
        points = [(LEFT + x, place(v)) for x, v in zip(np.linspace(0, WIDTH, len(y)), y, strict=True) if np.isfinite(v)]
        svg.append(f'<polyline class="line-{k}" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
    keys = "".join(
        '<span><svg class="plot" width="28" height="8" aria-hidden="true">'
        f'<path class="line-{k}" d="M0 4h28"/></svg> {key}</span>'
        for k, key in enumerate(lines)
    )
    return f'<figure class="plot">{"".join([*svg, "</svg>"])}<figcaption>{keys}</figcaption></figure>'
