"""The result of `infer`: verdicts, relations and assumptions, as tables and a plot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate import units
from roofslate._base.locks import cached_property
from roofslate._base.messages import unknown
from roofslate.display import style
from roofslate.display.html import LITERAL
from roofslate.display.result import Result, Table
from roofslate.errors import MissingInput
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.presets.catalog import models
from roofslate.price_lists.intervals import Interval

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from roofslate.price_lists.reading import Tariff

__all__ = ["Assumption", "Contradiction", "Inference", "Relation", "Tier", "Verdict"]

# Shapes to try: layers, layers that share one KV cache, heads, head sizes, formats, latent vectors.
_LAYERS = (32, 48, 64, 80, 96, 128)
_SHARING = (1, 2, 3, 4, 6, 8, 16, 32, 64, 128)
_HEADS = (1, 2, 4, 8, 16, 32)
_HEAD_SIZES = (64, 128, 256)
_LATENTS = (256, 576)
_FORMATS = ("bf16", "fp8", "fp4")
_SUPPOSED = ("lecture.toml", "techniques.toml")  # files of models with unpublished shapes


class Assumption(NamedTuple):
    """A given or assumed number or range, and its source."""

    name: str
    low: Any
    nominal: Any
    high: Any
    unit: str
    source: str
    given: bool


class Relation(NamedTuple):
    """One relation, and the interval it implies by itself."""

    quantity: str
    of: str
    formula: str
    source: str
    low: float
    nominal: float
    high: float
    unit: str
    prices: tuple[str, ...]


class Verdict(NamedTuple):
    """The conclusion on one cause of prices."""

    what: str
    low: float
    nominal: float
    high: float
    unit: str
    verdict: str
    prices: tuple[str, ...]
    why: str


class Contradiction(NamedTuple):
    """Two prices or causes that exclude each other, and the factor between them."""

    name: str
    one: str
    other: str
    factor: float
    why: str


class Tier(NamedTuple):
    """A memory tier, and the KV cache that hold and read prices imply for it."""

    name: str
    drain_time: float
    kv_bytes: Interval | None
    most_kv_bytes: float  # implied by the read price
    hold_times: list[float]
    hold_costs: list[float]  # per byte, by hold time


@dataclass(frozen=True, repr=False)
class Inference(Result):
    """The causes of a price list, as intervals.

    `str()` gives text, `plot` draws the KV cache implied by each relation, and Jupyter shows tables.

    Attributes
    ----------
    tariff : Tariff
        The prices in base units.
    """

    tariff: Tariff
    _verdicts: tuple[Verdict, ...]
    _relations: tuple[Relation, ...]
    _tiers: tuple[Tier, ...]
    _contradictions: tuple[Contradiction, ...]
    _assumptions: tuple[Assumption, ...]

    @property
    def each_assumption(self) -> tuple[Assumption, ...]:
        """The given and the assumed inputs."""
        return self._assumptions

    @property
    def each_relation(self) -> tuple[Relation, ...]:
        """The relations, one by one."""
        return self._relations

    @property
    def each_tier(self) -> tuple[Tier, ...]:
        """The tiers, one by one."""
        return self._tiers

    def __getitem__(self, what: str) -> Verdict:

        for verdict in self._verdicts:
            if verdict.what == what:
                return verdict
        raise unknown("verdict", what, [v.what for v in self._verdicts])

    @property
    def verdicts(self) -> pd.DataFrame:
        """The conclusion on each cause.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``what``: ``low`` and ``high`` in base units, ``nominal`` with every assumption at the middle of
            its range, ``unit``, ``verdict`` ("interval", "contradiction" or "not determined"), the ``prices`` it
            depends on, and ``why``.
        """
        return self._table(self._verdicts, "what")

    @property
    def relations(self) -> pd.DataFrame:
        """The interval each relation implies by itself, with its formula and source.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``quantity``. ``of`` is the cause it bounds.
        """
        return self._table(self._relations, "quantity")

    @property
    def contradictions(self) -> pd.DataFrame:
        """Contradictions, and the factor between their sides.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``name``. ``one`` and ``other`` are prices, or causes of prices.
        """
        import pandas as pd

        return pd.DataFrame(self._contradictions, columns=list(Contradiction._fields)).set_index("name")

    @property
    def assumptions(self) -> pd.DataFrame:
        """The given and assumed inputs, with their sources.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``name``. ``given`` is True for inputs of the caller.
        """
        return self._table(self._assumptions, "name")

    @property
    def tiers(self) -> pd.DataFrame:
        """The memory tiers, with the KV cache per token implied by the hold price in each.

        Returns
        -------
        pandas.DataFrame
            Indexed by ``tier``: ``low``, ``nominal`` and ``high`` bytes per token. ``most_kv_bytes`` is implied by the
            read price. ``drain_time``. ``fits`` if all other prices agree. The costs to hold a byte, one column per
            hold time.
        """
        import pandas as pd

        kv = self["kv_bytes_per_token"]
        rows = []
        for tier in self._tiers:
            low, nominal, high = tier.kv_bytes or (math.nan,) * 3
            costs = {f"cost_{time:g}_s": cost for time, cost in zip(tier.hold_times, tier.hold_costs, strict=True)}
            fits = kv.verdict == "interval" and tier.kv_bytes is not None and low <= kv.high and high >= kv.low
            row = {"low": low, "nominal": nominal, "high": high, "most_kv_bytes": tier.most_kv_bytes}
            rows.append({**row, "drain_time": tier.drain_time, "fits": fits, **costs})
        table = pd.DataFrame(rows, index=pd.Index([tier.name for tier in self._tiers], name="tier"))
        table.attrs["units"] = {"low": "byte/token", "nominal": "byte/token", "high": "byte/token", "drain_time": "s"}
        return table

    @cached_property
    def architectures(self) -> pd.DataFrame:
        """Model shapes with such a KV cache, the nearest first, and published models.

        Returns
        -------
        pandas.DataFrame
            ``kind`` is "shape" or "published". ``sharing`` counts the layers that share one KV cache. ``ratio`` is
            relative to the nominal size. All published models are listed, and ``fits`` marks those that agree. Without
            a verdict on the KV cache there are no shapes.
        """
        import pandas as pd

        kv = self["kv_bytes_per_token"]
        rows = [*_shapes(), *_published()]
        table = pd.DataFrame(rows)
        table["ratio"] = table["kv_bytes_per_token"] / kv.nominal
        determined = kv.verdict == "interval"
        table["fits"] = (table["kv_bytes_per_token"].between(kv.low, kv.high)) & determined
        distance = table["ratio"].map(lambda x: abs(math.log(x)) if x > 0 else math.inf).round(9)
        order = table.assign(distance=distance).sort_values(["distance", "sharing", "layers"], kind="stable").index
        table = table.loc[order]
        return table[(table["kind"] == "published") | table["fits"]].reset_index(drop=True)

    @staticmethod
    def _table(rows: tuple[Any, ...], index: str) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(list(rows), columns=list(type(rows[0])._fields)).set_index(index)

    # --- showing

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (v.what, _interval_text(v), f"({_number(v.nominal, v.unit)})" if v.verdict == "interval" else "", v.why)
            for v in self._verdicts
        ]

    def __str__(self) -> str:
        import textwrap

        lines = self._lines()
        widths = [max(len(line[k]) for line in lines) for k in range(3)]
        text = [f"{self.tariff.name}: causes of the prices"]
        text_width = max(40, 116 - sum(widths))
        for what, between, nominal, why in lines:
            first, *continuation = textwrap.wrap(why, text_width) or [""]
            text.append(f"  {what:<{widths[0]}}  {between:<{widths[1]}}  {nominal:<{widths[2]}}  {first}".rstrip())
            text += [" " * (8 + sum(widths)) + line for line in continuation]
        if self._contradictions:
            text.append("Contradictions")
            for c in self._contradictions:
                said = f"{c.name}, {_times(c.factor)}: {c.why}"
                text += [("  " if k == 0 else "    ") + line for k, line in enumerate(textwrap.wrap(said, 112))]
        text.append("Assumed")
        assumed = [a for a in self._assumptions if not a.given]
        width = max((len(a.name) for a in assumed), default=0)
        column = max((len(_assumed_text(a)) for a in assumed), default=0)
        text += [f"  {a.name:<{width}}  {_assumed_text(a):<{column}}  {a.source}" for a in assumed]
        return "\n".join(text)

    def _tables(self) -> list[Table]:
        head = ("what", "interval", "nominal", "why")
        tables: list[Table] = [(f"{self.tariff.name}: causes of the prices", head, self._lines())]
        if self._contradictions:
            rows = [(c.name, _times(c.factor), c.why) for c in self._contradictions]
            tables.append(("Contradictions", ("name", "apart", "why"), rows))
        given = [(a.name, _assumed_text(a), "given" if a.given else "assumed", a.source) for a in self._assumptions]
        tables.append(("Given and assumed", ("input", "value", "", "from"), given))
        return tables

    def _repr_html_(self) -> str:
        return f"<div {LITERAL}>{super()._repr_html_()}</div>"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the KV cache per token: each relation, the verdict, and published models.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        kv = self["kv_bytes_per_token"]
        rows = [(_READINGS.get(r.quantity, r.quantity), r) for r in self._relations if r.of == "kv_bytes_per_token"]
        keeping = [(f"hold price, {t.name}", t.kv_bytes) for t in self._tiers if t.kv_bytes]
        drawn = [(name, Interval(r.low, r.nominal, r.high)) for name, r in rows] + keeping
        published = {row["name"]: row["kv_bytes_per_token"] for row in _published()}
        with style.drawing(ax, (6.8, 1.7 + 0.28 * len(drawn))) as ax:
            ax.set_xscale("log")
            low, high = 0.3 * min(published.values()), 2 * max(published.values())
            if drawn:
                low = min(low, *(0.4 * (x.low or x.nominal or x.high / 10) for _, x in drawn))
                high = max(high, *(2 * x.high for _, x in drawn if math.isfinite(x.high)))
            for y, (name, x) in enumerate(drawn):
                start = max(x.low, low)
                ax.plot(
                    [start, x.high],
                    [y, y],
                    color="#0072B2",
                    linestyle="-",
                    linewidth=5,
                    solid_capstyle="butt",
                    label=name,
                )
                ax.plot([x.nominal or start], [y], "o", color=style.INK, markersize=5)
            if kv.verdict == "interval":
                ax.axvspan(kv.low, kv.high, color="#F0B27A", alpha=0.5, zorder=0, label="verdict")
            bottom = len(drawn) - 0.2
            for x in published.values():
                ax.plot([x], [bottom], "s", color="#7A4A12", markersize=4.5)
            ax.set_yticks([*range(len(drawn)), bottom], [*(name for name, _ in drawn), "published models"])
            ax.set(xlim=(low, high), ylim=(bottom + 0.6, -0.7))
            ax.tick_params(axis="y", length=0)
            ax.set_xlabel("KV cache per token")
            style.scale_ticks(ax.xaxis, "byte")
            style.title(ax, self.tariff.name)
        return ax


_READINGS = {
    "kv_bytes_from_kink": "a kink at the threshold",
    "kv_bytes_from_balance_context": "the step of the output price",
}


def _shapes() -> list[dict[str, Any]]:
    """Tabulate the KV caches of plausible shapes, computed at once."""
    depths = sorted({n // k for n in _LAYERS for k in _SHARING if n % k == 0})
    heads = evaluate(
        "kv_bytes_per_token",
        layers=depths,
        kv_heads=list(_HEADS),
        head_size=list(_HEAD_SIZES),
        kv_format=list(_FORMATS),
    )
    latent = evaluate(
        "kv_bytes_per_token",
        layers=depths,
        kv_heads=1,
        head_size=1,
        kv_latent_size=list(_LATENTS),
        kv_format=list(_FORMATS),
    )
    multi_head, thin = (caches.transpose("layers", ..., "kv_format").to_numpy() for caches in (heads, latent))
    rows = []
    for layers in _LAYERS:
        for sharing in _SHARING:
            if layers % sharing:
                continue
            k = depths.index(layers // sharing)
            for f, form in enumerate(_FORMATS):
                shape = {"kind": "shape", "name": "", "layers": layers, "sharing": sharing, "kv_format": form}
                for i, n in enumerate(_HEADS):
                    for j, d in enumerate(_HEAD_SIZES):
                        rows.append(
                            {**shape, "kv_heads": n, "head_size": d, "kv_bytes_per_token": multi_head[k, i, j, f]}
                        )
                for i, d in enumerate(_LATENTS):
                    rows.append({**shape, "kv_latent_size": d, "kv_bytes_per_token": thin[k, i, f]})
    return rows


def _published() -> list[dict[str, Any]]:
    """Tabulate the KV caches of catalog models with known shapes."""
    rows = []
    for name, preset in models.items():
        if "layers" not in preset.values or Path(preset.origin).name in _SUPPOSED:
            continue
        try:
            x = float(value("kv_bytes_per_token", model=preset))
        except MissingInput:
            continue
        known = {
            n: preset.values[n]
            for n in ("layers", "kv_heads", "head_size", "kv_latent_size", "kv_format")
            if n in preset.values
        }
        rows.append({"kind": "published", "name": name, "sharing": 1, **known, "kv_bytes_per_token": x})
    return rows


def _number(x: float, unit: str) -> str:
    return "no bound" if math.isinf(x) else units.format(x, unit, 3)


def _interval_text(v: Verdict) -> str:
    if v.verdict != "interval":
        return v.verdict
    if math.isinf(v.high):
        return f"{_number(v.low, v.unit)} or more"
    low, high = _number(v.low, v.unit), _number(v.high, v.unit)
    return low if low == high else f"{low} to {high}"


def _times(factor: float) -> str:
    return "opposed" if math.isinf(factor) else f"{factor:.3g} times apart"


def _assumed_text(a: Assumption) -> str:
    if isinstance(a.nominal, str):
        return a.nominal
    low, high = ("any" if math.isinf(x) else units.format(x, a.unit, 3) for x in (a.low, a.high))
    return low if low == high else f"{low} to {high}"
