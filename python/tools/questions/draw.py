"""Random inputs: the given quantities of a scenario, their values, and their spelling."""

from __future__ import annotations

import json
import math
import random
import re
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import roofslate as rs

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = [
    "CATALOGS",
    "CHANCE_OF_ERROR",
    "DIMS",
    "Call",
    "Chance",
    "Scenario",
    "all_presets",
    "as_axis",
    "as_code",
    "as_condition",
    "as_text",
    "computed",
    "configs",
    "names",
    "number",
    "quantity",
    "reached",
    "reference_cases",
    "spoiled",
    "typical",
    "varied",
]

REFERENCE = Path(__file__).resolve().parents[3] / "tests" / "reference"
CATALOGS = {"model": rs.models, "hardware": rs.hardware, "prices": rs.prices, "loss_law": rs.loss_laws}
DIMS = {"site": 3, "day": 2, "case": 5}  # shared axes, with equal lengths within a question
CHANCE_OF_ERROR = 0.08  # of a deliberately spoiled question, others are invalid by chance

Value = float | str


class Chance(random.Random):
    """Random choices for one question."""

    def yes(self, share: float) -> bool:
        return self.random() < share

    def some(self, items: Sequence[Any], least: int, most: int) -> list[Any]:
        return self.sample(list(items), min(len(items), self.randint(least, most)))

    def about(self, x: float, octaves: float = 1.5) -> float:
        """Draw a number near another, sometimes with few digits."""
        y = x * 2.0 ** self.uniform(-octaves, octaves)
        return float(f"{y:.{self.randint(1, 5)}g}") if self.yes(0.4) else y


# ---------------------------------------------------------------------------------------------------------- registry


@cache
def quantity(name: str) -> Any:
    return rs.quantity(name)


@cache
def names() -> tuple[str, ...]:
    return tuple(str(name) for name in rs.quantities().index)


@cache
def computed() -> tuple[str, ...]:
    return tuple(name for name in names() if quantity(name).computed)


@cache
def _limiting() -> frozenset[str]:
    """Return the quantities that limit another one."""
    return frozenset(bound for name in names() if (bound := quantity(name).bound))


@cache
def reached(outputs: tuple[str, ...]) -> tuple[str, ...]:
    """Return all quantities that outputs can depend on."""
    seen: dict[str, None] = {}
    stack = list(outputs)
    while stack:
        name = stack.pop()
        if name not in seen:
            seen[name] = None
            q = quantity(name)
            stack += [*q.needs, *([q.fallback] if q.fallback else [])]
    return tuple(seen)


@cache
def reference_cases() -> dict[str, list[dict[str, Any]]]:
    """Read the inputs of each quantity's hand-computed checks."""
    cases: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(REFERENCE.glob("*.toml")):
        for name, rows in tomllib.loads(path.read_text(encoding="utf-8")).items():
            if isinstance(rows, list) and all(isinstance(row, dict) and "inputs" in row for row in rows):
                cases.setdefault(name, []).extend(rows)
    return cases


@cache
def configs() -> dict[str, dict[str, Any]]:
    listed = json.loads((REFERENCE / "model_configs.json").read_text(encoding="utf-8"))["models"]
    return {entry["name"]: entry["config"] for entry in listed}


@cache
def typical() -> dict[str, tuple[float, ...]]:
    """Collect the values of each quantity in hand-computed checks and presets."""
    seen: dict[str, dict[float, None]] = {}

    def see(name: str, x: Any) -> None:
        if isinstance(x, (int, float)) and not isinstance(x, bool) and not math.isnan(x) and name in names():
            seen.setdefault(name, {})[float(x)] = None

    for name, rows in reference_cases().items():
        for row in rows:
            see(name, row["expected"])
            for key, x in row["inputs"].items():
                see(key, x)
    for catalog in (*CATALOGS.values(), rs.storage, rs.api_prices):
        for preset in catalog.values():
            for key, x in preset.values.items():
                see(key, x)
    return {name: tuple(numbers) for name, numbers in seen.items()}


@cache
def all_presets(keyword: str) -> tuple[str, ...]:
    return tuple(CATALOGS[keyword])


def number(chance: Chance, name: str) -> float:
    """Draw a valid number of a quantity, of a typical magnitude."""
    q = quantity(name)
    seen = typical().get(name) or (0.5 if q.high <= 1 else 3.0,)
    x = chance.choice(seen)
    if chance.yes(0.7) and math.isfinite(x):
        is_whole = x == int(x) and 1 <= x < 1e4
        x = chance.about(x)
        if is_whole and chance.yes(0.8):
            x = float(max(1, round(x)))
    return clipped(name, x)


def clipped(name: str, x: float) -> float:
    q = quantity(name)
    if q.computed or (q.low <= x <= q.high and not (q.above_low and x == q.low)):
        return x
    if q.above_low and x <= q.low:
        return float(min(q.high, q.low + 1.0)) if q.high < math.inf else float(q.low + 1.0)
    return float(min(max(x, q.low), q.high))


# ----------------------------------------------------------------------------------------------------------- spelling


_PREFIXED: dict[str, tuple[tuple[str, float], ...]] = {
    "s": (("ms", 1e-3), ("us", 1e-6), ("h", 3600.0), ("min", 60.0)),
    "byte": (("GB", 1e9), ("MiB", 2.0**20), ("kB", 1e3), ("Gbit", 1.25e8)),
    "FLOP": (("TFLOP", 1e12), ("PFLOP", 1e15), ("GMAC", 2e9)),
    "token": (("ktoken", 1e3), ("Mtok", 1e6), ("tok", 1.0)),
    "USD": (("USD", 1.0), ("kUSD", 1e3), ("dollars", 1.0)),
    "J": (("Wh", 3600.0), ("kJ", 1e3)),
    "parameter": (("Gparam", 1e9), ("params", 1.0)),
    "chip": (("GPUs", 1.0), ("chips", 1.0)),
    "sequence": (("seq", 1.0), ("sequences", 1.0)),
}


def as_text(chance: Chance, x: float, unit: str, *, exact: bool = False) -> str:
    """Write a number with a unit, to some digits: ``"3.2 TB/s"``."""
    if not math.isfinite(x):
        return f"{x!r} {unit}" if chance.yes(0.5) else str(x)
    words, power = [], 1
    for part in re.split(r"([*/])", unit):
        word, factor = part, 1.0
        if part in _PREFIXED and not exact and chance.yes(0.6):
            word, factor = chance.choice(_PREFIXED[part])
        x /= factor**power
        power = -1 if part == "/" else power
        words.append(word)
    digits = repr(x) if exact else f"{x:.{chance.randint(2, 7)}g}"
    spelled = "".join(words)
    return digits if spelled == "1" else f"{digits}{chance.choice(['', ' '])}{spelled}"


def as_code(chance: Chance, name: str, x: Value) -> str:
    """Write a value of an input in one of the accepted forms."""
    if isinstance(x, str):
        return repr(x)
    if chance.yes(0.12):
        q = quantity(name)
        return repr(as_text(chance, x, q.unit, exact=bool(q.bound) or name in _limiting() or x in (q.low, q.high)))
    if math.isfinite(x) and x == int(x) and abs(x) < 2**53 and chance.yes(0.5):
        return repr(int(x))
    if chance.yes(0.04) and math.isfinite(x):
        return f"np.float64({x!r})"
    return repr(x)


def points(chance: Chance, name: str, x: Value, n: int) -> list[Value]:
    """Draw several values around one."""
    q = quantity(name)
    if q.choices:
        return [chance.choice(q.choices) for _ in range(n)] if chance.yes(0.3) else list(q.choices)[:n]
    assert isinstance(x, float)
    if not math.isfinite(x):
        x = 1.0
    low, high = (-2 if name not in _limiting() else 0), (2 if not q.bound else 0)
    drawn = [clipped(name, x * 2.0 ** chance.uniform(low, high)) for _ in range(n)]
    if x == 0:
        drawn = [clipped(name, chance.uniform(0, 1)) for _ in range(n)]
    if x == int(x) and 1 <= x < 1e6 and chance.yes(0.7):
        drawn = [float(max(1, round(y))) for y in drawn]
    if chance.yes(0.7):
        drawn = sorted(set(drawn))
    return [*drawn]


def listed(values: Iterable[Value]) -> str:
    return "[" + ", ".join(map(repr, values)) + "]"


def as_axis(chance: Chance, name: str, x: Value, most: int = 6, *, shared: bool = True) -> str:
    """Write an axis of an input in one of the accepted forms."""
    n = chance.randint(1, most)
    values = points(chance, name, x, n)
    numbers = [y for y in values if isinstance(y, float)]
    if len(numbers) < len(values):
        return listed(values)
    low, high = min(numbers), max(numbers)
    variant = chance.randrange(10 if shared else 6)
    if variant == 1:
        return f"np.array({listed(values)})"
    if variant == 2:
        return f"rs.linspace({low!r}, {high!r}, {n})"
    if variant == 3 and low > 0:
        return f"rs.geomspace({low!r}, {high!r}, {n})"
    if variant == 4 and low == int(low) and 1 <= low < 1000:
        return f"range({int(low)}, {int(low) + n})"
    if variant == 5 and quantity(name).unit != "1":
        return "[" + ", ".join(repr(f"{y!r} {quantity(name).unit}") for y in numbers) + "]"
    if variant == 6:
        labels = [f"{name[:2]}{k}" for k in range(len(values))]
        return f"pd.Series({listed(values)}, index=pd.Index({labels!r}, name='of_{name}'))"
    if variant == 7:
        dim = chance.choice(sorted(DIMS))
        values = [clipped(name, chance.choice(numbers)) for _ in range(DIMS[dim])]
        coords = f", coords={{{dim!r}: {[f'{dim}{k}' for k in range(DIMS[dim])]!r}}}" if chance.yes(0.3) else ""
        return f"xr.DataArray({listed(values)}, dims={dim!r}{coords})"
    if variant == 8:
        one, other = chance.sample(sorted(DIMS), 2)
        rows = [[clipped(name, chance.choice(numbers)) for _ in range(DIMS[other])] for _ in range(DIMS[one])]
        return f"xr.DataArray([{', '.join(listed(row) for row in rows)}], dims=[{one!r}, {other!r}])"
    return listed(values)


def as_condition(chance: Chance, scenario: Scenario) -> str:
    """Write a comparison of quantities of a scenario, mostly one that some points meet."""
    name = chance.choice(scenario.computable)
    q = quantity(name)
    if q.choices:
        return f"{name} {chance.choice(['==', '!='])} {chance.choice(q.choices)!r}"
    alike = [n for n in scenario.comparable if n != name and quantity(n).unit == q.unit and not quantity(n).choices]
    sign = chance.choice(["<=", "<=", "<", ">=", ">"])
    if alike and chance.yes(0.4):
        factor = f"{chance.uniform(0.2, 3):.2g} * " if chance.yes(0.3) else ""
        return f"{name} {sign} {factor}{chance.choice(alike)}"
    x = chance.choice(typical().get(name, (1.0,)))
    limit = chance.about(x, 3) if math.isfinite(x) and x else 1.0
    written = f"{limit!r}" if q.unit == "1" or chance.yes(0.3) else f"{limit:.3g} {q.unit}"
    if chance.yes(0.1) and limit > 0:
        return f"{limit / 8!r} < {name} <= {limit!r}"
    return f"{name} {sign} {written}"


# ---------------------------------------------------------------------------------------------------------- scenarios


class Scenario:
    """Inputs from which some outputs can be computed: a random cut of the graph, with presets."""

    def __init__(self, chance: Chance, outputs: Sequence[str], *, presets: float = 0.35, expand: float = 0.85) -> None:
        self.chance = chance
        self.outputs = list(outputs)
        self.inputs: dict[str, Value] = {}
        self.presets: dict[str, str] = {}
        self._expand = expand
        self._expanded: dict[str, None] = {}
        self._supplied: set[str] = set()
        if chance.yes(presets):
            self._choose_presets()
        for name in outputs:
            self._need(name, top=True)
        for _ in range(2):  # a bound may have a bound
            self._lower_to_bounds()

    @property
    def computable(self) -> list[str]:
        """List the quantities that follow from the inputs, the outputs first."""
        return list(dict.fromkeys([*self.outputs, *self._expanded]))

    @property
    def comparable(self) -> list[str]:
        return [*self.computable, *self.inputs]

    @property
    def numbers(self) -> list[str]:
        """List the numeric inputs."""
        return [name for name, x in self.inputs.items() if isinstance(x, float)]

    def codes(self, *, axes: int = 0, most: int = 6, shared: bool = True) -> dict[str, str]:
        """Return the inputs as code by keyword, some of them axes."""
        chance = self.chance
        codes = {name: repr(preset) for name, preset in self.presets.items()}
        codes |= {name: as_code(chance, name, x) for name, x in self.inputs.items()}
        for name in chance.some(list(self.inputs), min(axes, 1), axes):
            codes[name] = as_axis(chance, name, self.inputs[name], most, shared=shared)
        if axes and self.presets and chance.yes(0.3):
            keyword = chance.choice(list(self.presets))
            codes[keyword] = repr(chance.some(_alike(keyword, self.presets[keyword]), 1, 3))
        return codes

    def _lower_to_bounds(self) -> None:
        supplied = {n: x for keyword, name in self.presets.items() for n, x in CATALOGS[keyword][name].values.items()}
        given = {**supplied, **self.inputs}
        for name, x in self.inputs.items():
            limit = given.get(quantity(name).bound, math.inf)
            if isinstance(x, float) and isinstance(limit, float) and x > limit and not self.chance.yes(0.01):
                self.inputs[name] = clipped(name, limit)
            lower = max(
                [y for n, y in supplied.items() if isinstance(y, float) and quantity(n).bound == name], default=0.0
            )
            if isinstance(x, float) and x < lower:
                self.inputs[name] = lower

    def _choose_presets(self) -> None:
        chance, needed = self.chance, set(reached(tuple(self.outputs)))
        for keyword, catalog in CATALOGS.items():
            useful = [n for n, preset in catalog.items() if needed & preset.values.keys()]
            if useful and chance.yes(0.6):
                self.presets[keyword] = name = chance.choice(useful)
                self._supplied |= catalog[name].values.keys()

    def _need(self, name: str, *, top: bool = False) -> None:
        if name in self.inputs or name in self._expanded:
            return
        chance, q = self.chance, quantity(name)
        if name in self._supplied and not top:
            if not q.computed and chance.yes(0.05):
                self._give(name)
            return
        if q.computed and (top or chance.yes(self._expand)):
            self._expanded[name] = None
            for need in q.needs:
                self._need(need)
        elif q.fallback and not (top and not q.computed) and chance.yes(0.7):
            self._expanded[name] = None
            self._need(q.fallback)
        elif q.default is None or top or chance.yes(0.25):
            self._give(name)

    def _give(self, name: str) -> None:
        q = quantity(name)
        self.inputs[name] = self.chance.choice(q.choices) if q.choices else number(self.chance, name)


@cache
def _alike(keyword: str, name: str) -> tuple[str, ...]:
    """List the presets that supply at least the quantities of one."""
    catalog = CATALOGS[keyword]
    return tuple(n for n, preset in catalog.items() if preset.values.keys() >= catalog[name].values.keys())


# --------------------------------------------------------------------------------------------------------------- calls


class Call:
    """A call as code: positional arguments and keywords."""

    def __init__(self, function: str, *positional: str, **keywords: str) -> None:
        self.function = function
        self.positional = list(positional)
        self.keywords = dict(keywords)

    def __str__(self) -> str:
        return f"{self.function}({', '.join([*self.positional, *(f'{k}={x}' for k, x in self.keywords.items())])})"


_WRONG_VALUES = (
    "None",
    "True",
    "-1",
    "nan",
    "'x'",
    "''",
    "[]",
    "[1, 'x']",
    "'5 s/byte'",
    "'3 parsecs'",
    "'1,2,3 GB'",
    "(1, 2, 3)",
    "{'a': 1}",
    "1j",
    "-inf",
    "1e400",
    "[1, 2, nan]",
    "np.ones((2, 2))",
    "np.zeros(0)",
    "object",
    "pd.Series([1.0, 2.0])",
    "xr.DataArray([1.0, 2.0, 3.0], dims='case')",
    "pd.Timestamp('2026-01-01')",
    "['H100', 3]",
    "b'1'",
    "lambda: 1",
    "'1e999 GB'",
    "10**400",
)


def spoiled(chance: Chance, call: Call, inputs: Iterable[str]) -> Call:
    """Spoil a call in one way."""
    given = [name for name in inputs if name in call.keywords]
    variant = chance.randrange(8)
    if variant == 0 and given:  # a misspelled name
        name = chance.choice(given)
        at = chance.randrange(1, len(name))
        call.keywords[name[: at - 1] + name[at:]] = call.keywords.pop(name)
    elif variant == 1 and given:
        del call.keywords[chance.choice(given)]
    elif variant in (2, 3) and given:
        call.keywords[chance.choice(given)] = chance.choice(_WRONG_VALUES)
    elif variant == 4:  # an ineffective or contradictory input
        name = chance.choice(names())
        if name.isidentifier():
            call.keywords[name] = as_code(chance, name, number(chance, name))
    elif variant == 5 and call.positional:
        k = chance.randrange(len(call.positional))
        call.positional[k] = chance.choice([*_WRONG_VALUES, "'pass_tim'", "['pass_time', 'pass_time']"])
    elif variant == 6:
        call.keywords[chance.choice(list(CATALOGS))] = chance.choice(["'H10O'", "'deepseek'", "3", "['H100', 'H100']"])
    else:
        word = chance.choice(["units", "threads", "where", "over", "dtype", "bands", "at", "side", "to", "seed", "n"])
        call.keywords[word] = chance.choice([*_WRONG_VALUES, "{'pass_time': 'ms'}", "'ms'", "'float16'"])
    return call


def varied(chance: Chance, call: Call, inputs: Iterable[str]) -> str:
    """Return a call as code, sometimes spoiled."""
    return str(spoiled(chance, call, inputs) if chance.yes(CHANCE_OF_ERROR) else call)
