"""Published training layouts next to the planner's best, under one model of a step."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate.deployment.candidates import RECIPE
from roofslate.deployment.search import deploy
from roofslate.display.result import Result, Table
from roofslate.errors import DoesNotFit, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.measured.training_runs import left_out_runs, training_runs
from roofslate.presets.layouts import DIMENSIONS, check_layout
from roofslate.presets.lookup import find_preset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pandas as pd

    from roofslate.measured.training_runs import TrainingRun

__all__ = ["LayoutValidation", "validate_layouts"]

_UTILIZATION = "training_utilization"
_MEASURES = (_UTILIZATION, "hardware_flops_utilization", "trained_tokens_per_second_per_chip")
_WORDS = {
    "tensor_parallel": "TP",
    "context_parallel": "CP",
    "pipeline_stages": "PP",
    "model_chunks": "VPP",
    "data_parallel": "DP",
    "expert_parallel": "EP",
    "microbatches": "micro-batches",
}
_PARTS = (*(name for name in DIMENSIONS if name != "chips"), *RECIPE)
_NEARBY = (1, 2, 4, 8, 16, 32)  # context parallel degrees that are searched where a run has one


@dataclass(frozen=True, repr=False, eq=False)
class LayoutValidation(Result):
    """Published training layouts, their predictions, and the planner's best.

    Attributes
    ----------
    rows : pandas.DataFrame
        Indexed by run: `layout`, `legal` ("yes", or the complaint), `chips`, `memory` (byte/chip), `fits`,
        `measure`, `published`, `predicted` and `error` (relative) of that measure, `utilization` (predicted MFU), of
        the planner's best `best_utilization` and `best_layout`, and `gain`, how much more it has than the published
        layout. Then `assumed`, `note`, `source`, `date` and `checked`.
    left_out : mapping of str
        Published runs without a layout to compare, and why.
    """

    rows: pd.DataFrame
    left_out: Mapping[str, str]

    @property
    def errors(self) -> pd.Series:
        """Relative errors of predictions, by run."""
        return self.rows["error"].dropna()

    @property
    def holds(self) -> bool:
        """Return True if each layout is legal and none that fits beats the planner."""
        searched = self.rows["best_utilization"].notna() & (self.rows["fits"] == "yes")
        return bool((self.rows["legal"] == "yes").all() and (self.rows.loc[searched, "gain"] >= -1e-12).all())

    def __str__(self) -> str:
        head, cells = self._head_and_cells()
        widths = [max(map(len, column)) for column in zip(head, *cells, strict=True)]
        lines = ["  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in [head, *cells]]
        sizes = self.errors.abs()
        if len(sizes):
            lines.append(
                f"error of predictions: median {sizes.median():.0%}, mean {sizes.mean():.0%} of {len(sizes)} runs"
            )
        checked = int((self.rows["checked"] == "checked in source").sum())
        lines.append(f"{len(self.rows) - checked} of {len(self.rows)} layouts are unverified")
        return "\n".join(lines)

    def _head_and_cells(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        head = ("run", "layout", "memory", "published", "predicted", "MFU", "best MFU", "best layout")
        cells = []
        for run, row in self.rows.iterrows():
            memory = units.format(row["memory"], "byte", 3)
            measured = (_written(row[name], row["measure"]) for name in ("published", "predicted"))
            shares = (_written(row[name], "MFU") for name in ("utilization", "best_utilization"))
            too_much = "" if row["fits"] == "yes" else " (too much)"
            cells.append((str(run), row["layout"], memory + too_much, *measured, *shares, row["best_layout"]))
        return head, cells

    def _tables(self) -> list[Table]:
        return [("Published training layouts", *self._head_and_cells())]


def validate_layouts(names: Iterable[str] | None = None, *, search: bool = True) -> LayoutValidation:
    """Compare published training layouts with predictions and the planner's best.

    Parameters
    ----------
    names : iterable of str, optional
        Runs to compare, by default all that the package carries.
    search : bool
        Whether to search the best layout of each run with `deploy`: same chips, batch and sequences, all layouts and
        recipes, the run's own among them.

    Returns
    -------
    LayoutValidation

    Raises
    ------
    UnknownName
        For an unknown run, naming the nearest.

    See Also
    --------
    deploy : Search of layouts.
    validate : Errors on measured runs.

    Examples
    --------
    >>> import roofslate as rs
    >>> runs = rs.validate_layouts(["Llama-3.1-405B, 16,384 chips"], search=False)
    >>> runs.rows["legal"].item(), round(runs.errors.item(), 2)
    ('yes', 0.01)
    """
    import pandas as pd

    rows = [_compared(run, search=search) for run in training_runs(names)]
    return LayoutValidation(pd.DataFrame(rows).set_index("run"), left_out_runs())


def _compared(run: TrainingRun, *, search: bool) -> dict[str, Any]:
    """Compare one run: legality, prediction, and the planner's best."""
    inputs = dict(run.inputs)
    legal = _legality(inputs)
    del inputs["data_parallel"]  # follows from the rest, as checked
    outputs = [*_MEASURES, "training_memory", "training_memory_fits"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoesNotFit)
        values = evaluate(outputs, inputs, calibration="training")
    predicted = {name: float(values[name]) for name in outputs[:-1]}
    measure = next(iter(run.published), _UTILIZATION)
    published = run.published.get(measure, np.nan)
    best, layout = _best(inputs) if search else (np.nan, "")
    return {
        "run": run.name,
        "layout": _in_words(run.inputs),
        "legal": legal,
        "chips": int(inputs["chips"]),
        "memory": predicted["training_memory"],
        "fits": "yes" if values["training_memory_fits"].item() in (1, "yes") else "no",
        "measure": measure,
        "published": published,
        "predicted": predicted[measure],
        "error": predicted[measure] / published - 1,
        "utilization": predicted[_UTILIZATION],
        "best_utilization": best,
        "best_layout": layout,
        "gain": best / predicted[_UTILIZATION] - 1,
        "assumed": ", ".join(run.assumed),
        "note": run.note,
        "source": run.source,
        "date": run.date,
        "checked": "checked in source" if run.read else "unverified",
    }


def _legality(inputs: Mapping[str, Any]) -> str:
    """Return "yes" for a legal layout, otherwise the complaint."""
    model = find_preset("model", inputs["model"]).values if "model" in inputs else {}
    sizes = {name: x for name, x in {**model, **inputs}.items() if not isinstance(x, str)}
    try:
        check_layout({name: x for name, x in inputs.items() if name in DIMENSIONS}, sizes)
    except ValueRangeError as error:
        return str(error)
    return "yes"


def _best(inputs: Mapping[str, Any]) -> tuple[float, str]:
    """Return the best utilization on the same chips, and its layout in words."""
    searched = {name: x for name, x in inputs.items() if name not in _PARTS}
    for name, usual in RECIPE.items():
        choices = [usual] if isinstance(usual, str) else list(usual)
        run_choice = inputs.get(name)
        searched[name] = choices if run_choice is None or run_choice in choices else [*choices, run_choice]
    if "context_parallel" in inputs:
        searched["context_parallel"] = sorted({*_NEARBY, inputs["context_parallel"]})
    plan = deploy(searched, objective=_UTILIZATION, maximize=True)
    if plan.table.empty:
        return np.nan, "none fits"
    first = plan.table.iloc[0]
    return float(first[_UTILIZATION]), _in_words(dict(first))


def _in_words(layout: Mapping[str, Any]) -> str:
    """A layout and its recipe, parts of one left out."""
    parts = [f"{word} {int(layout[name])}" for name, word in _WORDS.items() if name in layout and _counts(layout, name)]
    said = [str(layout[name]) for name in ("pipeline_schedule", "activation_policy") if name in layout]
    if layout.get("sharded_state", "none") != "none":
        said.append(f"sharded {layout['sharded_state']}")
    if layout.get("pipeline_stages", 1) == 1:
        said = [word for word in said if word != layout.get("pipeline_schedule")]
    return ", ".join(parts + said)


def _counts(layout: Mapping[str, Any], name: str) -> bool:
    """Return True for a part of more than one that has an effect."""
    interleaved = layout.get("pipeline_schedule") == "interleaved" and layout.get("pipeline_stages", 1) > 1
    return layout[name] > 1 and (name != "model_chunks" or interleaved)


def _written(x: float, measure: str) -> str:
    """A measured or predicted number, empty for none."""
    if x != x:
        return ""
    if measure == "trained_tokens_per_second_per_chip":
        return units.format(x, "token/s/chip", 4)
    return f"{100 * x:.1f}%" + (" HFU" if measure == "hardware_flops_utilization" else "")
