"""`rs.summary`: all outcomes of one deployment or training run, lower bound and estimate next to each other."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.display.html import columns
from roofslate.display.result import Result, Table
from roofslate.errors import AxisError, DoesNotFit, MissingInput, RoofslateWarning
from roofslate.evaluation.bands import bands_apply
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.basis import carriers_of, default_estimate
from roofslate.grid.read import Settled, changed, with_scenario
from roofslate.presets.fits import check_level
from roofslate.presets.lookup import find_preset
from roofslate.registry.registry import ancestors, current, lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    import xarray as xr

    from roofslate.presets.preset import Preset

__all__ = ["Summary", "summary"]

# Outcomes by name, with their words and the unit that a person reads; the same size as the base unit.
_SERVING = {
    "hbm_used": ("memory per chip", "byte"),
    "hbm_capacity": ("memory of a chip", "byte"),
    "memory_limited_sequences": ("sequences that fit", "1"),
    "running_sequences": ("running sequences", "1"),
    "pass_time": ("forward-pass time", "s"),
    "time_per_output_token": ("time per output token (TPOT)", "s"),
    "time_to_first_token": ("time to first token (TTFT)", "s"),
    "request_latency": ("end-to-end request latency", "s"),
    "request_throughput": ("request throughput", "1/s"),
    "tokens_per_second_per_user": ("tokens per second per user", "token/s"),
    "tokens_per_second_per_chip": ("tokens per second per chip", "token/s"),
    "model_flops_utilization": ("model FLOPs utilization (MFU)", "%"),
    "cost_per_token": ("decode cost per token", "USD/token"),
    "cost_per_input_token": ("cost per input token", "USD/token"),
    "cost_per_output_token": ("cost per output token, prompts included", "USD/token"),
    "cost_per_request": ("cost per request", "USD"),
    "blended_cost_per_token": ("blended cost per token", "USD/token"),
}
_TRAINING = {
    "training_memory": ("memory per chip", "byte"),
    "hbm_capacity": ("memory of a chip", "byte"),
    "training_step_time": ("time per step", "s"),
    "training_bubble": ("pipeline bubble", "%"),
    "trained_tokens_per_second_per_chip": ("tokens per second per chip", "token/s"),
    "training_utilization": ("model FLOPs utilization (MFU)", "%"),
    "pretraining_chip_time": ("chip time", "chip*s"),
    "pretraining_time": ("training time", "s"),
    "pretraining_cost": ("training cost", "USD"),
}

# What a scenario asks for: training where it has a load of one kind and none of the other.
_TRAINING_LOAD = {
    "global_batch_size",
    "tokens_per_step",
    "sequence_length",
    "pretraining_tokens",
    "training_utilization",
}
_SERVING_LOAD = {"concurrency", "batch_size", "context_length", "input_tokens", "output_tokens"}

_FLOOR = "floor"
_NO_INPUTS = {"roofslate_version", "calibration", "unused", "layout", "dequantized"}  # attributes that are no input


@dataclass(frozen=True, repr=False)
class Summary(Result):
    """All outcomes of a scenario: `str()` and Jupyter show them, `to_dataframe` gives the numbers.

    Attributes
    ----------
    scenario : dict
        What was given, in words.
    calibration : str
        Name and date of the estimate's constants; empty where there is only the floor.
    layout : str
        The layout that a rule chose; empty where none was needed.
    dequantized : str
        Number formats that the chip turns into bf16 before it multiplies them; empty where there are none.
    fits : bool or None
        Whether weights and KV cache, or the state of training, fit into memory; None where that is unknown.
    missing : dict
        By outcome that was not computed: the input that is missing.
    assumed : tuple of str
        Of a model that was read from its config.json: keys that were not understood, and gaps that its family fills.
    """

    scenario: dict[str, str]
    calibration: str
    layout: str
    dequantized: str
    fits: bool | None
    missing: dict[str, str]
    assumed: tuple[str, ...]
    _table: pd.DataFrame
    _level: float
    _words: Mapping[str, tuple[str, str]]

    def to_dataframe(self) -> pd.DataFrame:
        """Give the outcomes as a table, in base units.

        Returns
        -------
        pandas.DataFrame
            Indexed by quantity: ``meaning``, ``unit``, ``floor``, ``estimate``, the ends of its band as ``lower`` and
            ``upper``, the ``basis`` of the estimate, and what is ``missing``.
        """
        return self._table.copy()

    @property
    def _caption(self) -> str:
        who = " on ".join(self.scenario[name] for name in ("model", "hardware") if name in self.scenario)
        rest = [f"{name} {x}" for name, x in self.scenario.items() if name not in ("model", "hardware")]
        return ": ".join(filter(None, [who, ", ".join(rest)]))

    def _notes(self) -> list[str]:
        """Lines below the caption: what the columns are, layout, memory."""
        notes = ["floor: ideal machine, a lower bound of times and costs"]
        if self.calibration:
            notes.append(f"estimate: calibration {self.calibration}; where there is no band, none is known")
        if self.layout:
            notes.append(f"layout: {self.layout}")
        if self.dequantized:
            notes.append(f"formats: {self.dequantized}")
        if self.fits is not None:
            column = self._table["estimate" if self.calibration else "floor"]
            used, size = float(column.iloc[0]), float(column["hbm_capacity"])
            verb = "fits" if self.fits else "does not fit" if used > size else "has no room for a sequence"
            notes.append(f"memory: {verb}, {used / size:.0%} of {units.format(size, 'byte', 3)} per chip")
        return [*notes, *self.assumed]

    def _columns(self) -> list[str]:
        estimate = ["estimate", f"{100 * self._level:g}% band"] if self.calibration else []
        return ["outcome", "quantity", "floor", *estimate]

    def _rows(self) -> list[list[str]]:
        rows = []
        for name, row in self._table.iterrows():
            if name in self.missing:
                continue
            words, unit = self._words[str(name)]
            cells = [words, str(name), _written(row["floor"], unit)]
            if self.calibration:
                band = [_written(row[end], unit) for end in ("lower", "upper")]
                cells += [_written(row["estimate"], unit), " to ".join(filter(None, band))]
            rows.append(cells)
        return rows

    @property
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table as `str` and Jupyter show it."""
        return self._columns(), self._rows()

    def _missing_lines(self) -> list[str]:
        """What is missing, each with the outcomes that need it."""
        by_input: dict[str, list[str]] = {}
        for name, need in self.missing.items():
            by_input.setdefault(need, []).append(name)
        return [f"missing {need}: {', '.join(names)}" for need, names in by_input.items()]

    def _basis_lines(self) -> list[str]:
        """Outcomes whose estimate is none: a constant was given, or they are outside of the calibration's scope."""
        others: dict[str, list[str]] = {}
        for name, basis in self._table["basis"].items():
            if basis not in ("", _FLOOR, "estimate"):
                others.setdefault(basis, []).append(str(name))
        return [f"{basis}: {', '.join(names)}" for basis, names in others.items()]

    def __str__(self) -> str:
        rows = self._rows()
        table = columns([self._columns(), *rows]) if rows else []
        return "\n".join([*filter(None, [self._caption]), *self._notes(), *table, *self._ends()])

    def _ends(self) -> list[str]:
        return [*self._basis_lines(), *self._missing_lines()]

    def _tables(self) -> list[Table]:
        below = ". ".join([self._caption, *self._notes(), *self._ends()])
        return [(below, self._columns(), self._rows())]


def summary(scenario: Mapping[str, Any] | None = None, /, *, bands: float = 0.8, **inputs: Any) -> Summary:
    """Summarize a deployment, or a training run: memory, latency, throughput and cost, floor and estimate.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    bands : float
        Level of the band around calibrated outcomes.
    **inputs
        As for `evaluate`, but none of them may be an axis. The estimate is that of ``calibration``: ``"serving"``, or
        ``"training"`` for a scenario with a training load and none of serving.

    Returns
    -------
    Summary
        Outcomes that lack an input are listed with what is missing.

    Raises
    ------
    UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `evaluate`.

    See Also
    --------
    explain : Derivation of one of the outcomes.
    deploy : Search for the best layout.

    Examples
    --------
    >>> import roofslate as rs
    >>> scenario = dict(model="Llama-3.1-70B", weight_format="fp8", hardware="HGX H100", chip_price="2 USD/h")
    >>> deployment = rs.summary(scenario, concurrency=64, input_tokens="8k", output_tokens="1k")
    >>> deployment.fits
    True
    >>> rs.summary(scenario, concurrency=64).missing["cost_per_request"]
    'context_length or input_tokens or turn_input_tokens'
    """
    check_level(bands)
    inputs = with_scenario(scenario, inputs)
    training = not _TRAINING_LOAD.isdisjoint(inputs) and _SERVING_LOAD.isdisjoint(inputs)
    words = _TRAINING if training else _SERVING
    given = inputs.get("calibration")
    if given is None:
        given = default_estimate("pass_time", training=training, registry=current())
    elif not isinstance(given, str) and isinstance(given, (list, tuple)):
        raise AxisError("calibration: a summary shows the floor next to one estimate; give one name")
    preset = find_preset("calibration", given)
    estimated = getattr(preset, "constants", None) is not None
    ideal = find_preset("calibration", _FLOOR)
    floor, missing = _evaluated(words, Settled(changed(inputs, {"calibration": ideal})), ideal)
    result = floor
    if estimated:
        result, missing = _evaluated(words, changed(inputs, {"calibration": preset}), preset, bands)
    return _assembled(words, floor, result, missing, _assumed(inputs), bands if estimated else 0.0)


def _assumed(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """What the file of a model leaves open, where the model was read from one."""
    model = inputs.get("model")
    attributes = find_preset("model", model).attributes if model is not None else {}
    lines = (("model not fully read", "not_read"), ("model, assumed", "assumed"))
    return tuple(f"{words}: {attributes[name]}" for words, name in lines if name in attributes)


def _evaluated(
    words: Mapping[str, Any], inputs: Mapping[str, Any], preset: Preset, level: float | None = None
) -> tuple[xr.Dataset, dict[str, str]]:
    """Evaluate the outcomes for which there are all inputs; for the others, say what they lack."""
    plain = {name: x for name, x in inputs.items() if name != "calibration"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoofslateWarning)  # the evaluation of all outcomes warns
        lacks = {name: _lack(name, Settled({**preset.values, **plain})) for name in (*words, _fits_of(words))}
    known = [name for name, lack in lacks.items() if not lack]
    missing = {name: lack for name, lack in lacks.items() if lack and name in words}
    if not known:
        import xarray as xr

        return xr.Dataset(), missing
    # what only the missing outcomes take is not without effect
    waiting = frozenset().union(*map(ancestors, missing))
    of_missing = {name: x for name, x in plain.items() if name in waiting}
    carriers = carriers_of(current())
    constants = {"calibration": preset} if any(name in carriers for name in known) else {}
    asked = changed(changed(inputs, constants), {**of_missing, **constants}, exempt=True)
    fitted: Any = getattr(preset, "constants", None)
    banded = bands_apply(level, preset) and any(name in fitted.fits for name in known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoesNotFit)  # the summary has a line for it
        result: Any = evaluate(known, asked, bands=level if banded and level is not None else None)
    return result, missing


def _fits_of(words: Mapping[str, Any]) -> str:
    """The quantity that says whether everything fits into memory."""
    return "training_memory_fits" if words is _TRAINING else "memory_fits"


def _lack(name: str, inputs: Mapping[str, Any]) -> str:
    """The inputs that an outcome lacks, in words; empty where it can be computed."""
    try:
        value(name, inputs)
    except MissingInput as error:
        return _need(str(error))
    except AxisError as error:
        raise AxisError(str(error).replace("rs.value computes one point", "rs.summary shows one point")) from None
    return ""


def _need(message: str) -> str:
    """The inputs that an error names: ``"'concurrency' or 'batch_size'"``."""
    said = message.partition("; needed by")[0]
    return " or ".join(re.findall(r"'(\w+)' \(", said)) or said


def _assembled(
    words: Mapping[str, tuple[str, str]],
    floor: xr.Dataset,
    result: xr.Dataset,
    missing: dict[str, str],
    assumed: tuple[str, ...],
    level: float,
) -> Summary:
    """Put both columns together."""
    import pandas as pd

    known = {name: lookup(name) for name in words}
    table = pd.DataFrame(
        {
            "meaning": [text for text, _ in words.values()],
            "unit": [q.unit for q in known.values()],
            "floor": [_number(floor, name) for name in words],
            "estimate": [_number(result, name) for name in words],
            "lower": [_number(result, f"{name}_lower") for name in words],
            "upper": [_number(result, f"{name}_upper") for name in words],
            "basis": [str(result[name].attrs.get("basis", "")) if name in result else "" for name in words],
            "missing": [missing.get(name, "") for name in words],
        },
        index=pd.Index(list(words), name="quantity"),
    )
    fits = _number(result, _fits_of(words))
    attrs = {str(name): str(x) for name, x in result.attrs.items()}
    return Summary(
        scenario={name: re.sub(r" \(\d[\d-]*\)$", "", x) for name, x in attrs.items() if name not in _NO_INPUTS},
        calibration=attrs.get("calibration", "") if level else "",
        layout=attrs.get("layout", "")
        or next((str(v.attrs["layout"]) for v in result.values() if "layout" in v.attrs), ""),
        dequantized=attrs.get("dequantized", ""),
        fits=None if math.isnan(fits) else bool(fits),
        missing=missing,
        assumed=assumed,
        _table=table if level else table.assign(estimate=float("nan"), basis=""),
        _level=level,
        _words=words,
    )


def _number(result: xr.Dataset, name: str) -> float:
    return float(result[name]) if name in result else float("nan")


def _written(x: float, unit: str) -> str:
    """A number as a person reads it; nothing for one that is not known."""
    if math.isnan(x):
        return ""
    if unit == "%":
        return f"{x:.1%}"
    return "never" if math.isinf(x) and unit in ("s", "chip*s") else units.format(x, unit, 3)
