"""`rs.summary`: all outcomes of a deployment, a training run or a chip."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.messages import shown, warn
from roofslate._base.version import __version__
from roofslate.analysis.summary_card import bound_of, card_of, cards_of, differing_inputs, verdict_of
from roofslate.analysis.summary_facts import Facts
from roofslate.analysis.summary_kinds import CHIP, TRAINING, Outcome, kind_of, outcomes_of
from roofslate.analysis.summary_notes import assumed, queueing, stale, without_effect
from roofslate.analysis.summary_numbers import Evaluated, evaluated
from roofslate.analysis.summary_parts import changes_of, fitting_chips, splits_of
from roofslate.errors import (
    AxisError,
    DoesNotFit,
    InputTypeError,
    RoofslateWarning,
    UnitError,
)
from roofslate.grid.basis import carriers_of, default_estimate
from roofslate.grid.read import Settled, changed, with_scenario
from roofslate.presets.fits import check_level
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import current, lookup
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    import pandas as pd

    from roofslate.presets.preset import Preset

__all__ = ["Summaries", "Summary", "summary"]

_FLOOR = "floor"
_NO_INPUTS = {"roofslate_version", "calibration", "unused", "layout", "dequantized"}  # attributes that are no input


@dataclass(frozen=True, repr=False)
class Summary(Facts):
    """All outcomes of a scenario. `str()` and Jupyter show them as a card.

    Attributes
    ----------
    kind : str
        ``"deployment"``, ``"training run"`` or ``"chip"``.
    scenario : dict
        Inputs by name, formatted.
    calibration : str
        Name and date of the constants of the estimate, empty if there is only the lower bound.
    level : float
        Level of the band.
    support : str
        Support of the estimate: ``measured``, ``interpolated`` or ``extrapolated`` with a reason.
    layout : str
        Layout by a rule, empty if it is given.
    dequantized : str
        Number formats that the chip converts to BF16 before it multiplies.
    fits : bool or None
        Whether weights and KV cache, or the training state, fit in memory. None if an input is missing.
    fitting_chips : int or None
        If it does not fit: the fewest chips it fits on, in doublings.
    splits : tuple of Split
        Parts of memory, time and power.
    changes : tuple of Change
        The changes of one input that lower the time most.
    missing : dict
        By outcome without a number: the missing input.
    assumed : tuple of str
        For a model from config.json: keys that were not understood, and assumed values.
    warnings : tuple of str
        No fit is in `fits`. These are about extrapolation, inputs without effect, and stale prices.
    """

    def to_dataframe(self) -> pd.DataFrame:
        """Return the outcomes as a table, in base units.

        Returns
        -------
        pandas.DataFrame
            Indexed by quantity: ``section``, ``meaning``, ``unit``, ``floor``, ``estimate``, the band as ``lower`` and
            ``upper``, ``basis`` and ``support`` of the estimate, and the ``missing`` input.
        """
        return self._table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as a dict for JSON, in base units.

        Returns
        -------
        dict
            ``outcomes`` has for each quantity ``meaning``, ``unit``, ``floor`` (the bound) with ``bound_side``,
            ``estimate``, ``band``, ``basis`` and ``support``. An undefined number is None, an endless time ``"inf"``.
        """
        memory = self.memory
        return {
            "roofslate_version": __version__,
            "kind": self.kind,
            "inputs": dict(self.scenario),
            "calibration": self.calibration or None,
            "support": self.support or None,
            "layout": self.layout or None,
            "dequantized": self.dequantized or None,
            "fits": self.fits,
            "free_memory": None if memory is None else {"unit": "byte/chip", "value": _plain(memory[1] - memory[0])},
            "fitting_chips": self.fitting_chips,
            "outcomes": {outcome.key: self._described(outcome) for outcome in self.shown},
            "splits": {
                split.name: {
                    "quantity": split.quantity,
                    "unit": lookup(split.quantity).unit,
                    "total": split.total,
                    "limit": _plain(split.limit) if math.isfinite(split.limit) else None,
                    "parts": dict(split.parts),
                }
                for split in self.splits
            },
            "changes": [
                {
                    "change": change.words,
                    "inputs": dict(change.inputs),
                    "quantity": change.quantity,
                    "unit": lookup(change.quantity).unit,
                    "value": change.value,
                    "relative": change.relative,
                }
                for change in self.changes
            ],
            "missing": dict(self.missing),
            "warnings": list(self.warnings),
            "notes": [*self.assumed, *self.basis_notes],
        }

    def _described(self, outcome: Outcome) -> dict[str, Any]:
        """Describe an outcome for `to_dict`."""
        row = self._table.loc[outcome.key]
        numbers = {name: _plain(x) for name, x in self.numbers(outcome).items()}
        has_band = numbers["lower"] is not None
        return {
            "quantity": outcome.quantity,
            "meaning": outcome.words,
            "unit": row["unit"],
            "floor": numbers["floor"],
            "bound_side": bound_of(outcome.quantity, outcome.unit) or None,
            "estimate": numbers["estimate"],
            "band": {"level": self.level, "lower": numbers["lower"], "upper": numbers["upper"]} if has_band else None,
            "basis": row["basis"] or None,
            "support": row["support"] or None,
        }

    @property
    def verdict(self) -> str:
        """The fit in words, such as ``"fits, 48.9 GB free"``, empty if unknown."""
        return verdict_of(self)

    @property
    def title(self) -> str:
        """Kind, model and hardware."""
        return card_of(self).title

    @property
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table as `str` and Jupyter show it."""
        return card_of(self).table()

    def __str__(self) -> str:
        return card_of(self).text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return card_of(self).html


@dataclass(frozen=True, repr=False)
class Summaries(Sequence[Summary]):
    """Summaries of several scenarios, side by side under the inputs that differ.

    Attributes
    ----------
    summaries : tuple of Summary
    """

    summaries: tuple[Summary, ...]

    def __len__(self) -> int:
        return len(self.summaries)

    def __getitem__(self, index: Any) -> Any:
        return self.summaries[index]

    @property
    def labels(self) -> list[str]:
        """A label for each scenario, from the inputs that differ."""
        differing = sorted(differing_inputs(self.summaries), key=lambda name: name not in PRESETS)
        for count in range(1, len(differing) + 1):
            names = differing[:count]
            texts = [", ".join(each.scenario.get(name, f"no {name}") for name in names) for each in self.summaries]
            if len(set(texts)) == len(texts):
                return texts
        return [f"scenario {k}" for k in range(1, len(self) + 1)]

    def to_dataframe(self) -> pd.DataFrame:
        """Return the outcomes of all scenarios as a table, in base units.

        Returns
        -------
        pandas.DataFrame
            Indexed by scenario and quantity, with the columns of `Summary.to_dataframe`.
        """
        import pandas as pd

        tables = [each.to_dataframe() for each in self.summaries]
        return pd.concat(tables, keys=self.labels, names=["scenario", "quantity"])

    def to_dict(self) -> dict[str, Any]:
        """Return the summaries as a dict for JSON.

        Returns
        -------
        dict
            ``differing_inputs``, and ``scenarios`` with `Summary.to_dict` by label.
        """
        scenarios = {label: each.to_dict() for label, each in zip(self.labels, self.summaries, strict=True)}
        return {"differing_inputs": differing_inputs(self.summaries), "scenarios": scenarios}

    @property
    def title(self) -> str:
        """Kind, and the model and hardware of all scenarios."""
        return cards_of(self.summaries, self.labels).title

    @property
    def fits(self) -> bool | None:
        """True if every scenario fits in memory, None if one is unknown."""
        known = [each.fits for each in self.summaries]
        return False if False in known else None if None in known else True

    @property
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows of the table as `str` and Jupyter show it."""
        return cards_of(self.summaries, self.labels).table()

    def __str__(self) -> str:
        return cards_of(self.summaries, self.labels).text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return cards_of(self.summaries, self.labels).html


def summary(
    scenario: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None,
    /,
    *,
    bands: float = 0.8,
    stale_after: str | float = "365 d",
    **inputs: Any,
) -> Summary | Summaries:
    """Summarize a deployment, a training run or a chip.

    The summary has memory, latency, throughput, cost, power, the bottleneck, and the changes that help most.

    The inputs choose the kind. A load of serving (``concurrency``, ``input_tokens``, ...) makes a deployment, a load of
    training (``pretraining_tokens``, ``global_batch_size``, ...) a training run. Without a model and a load, inputs of
    a chip make a chip. Other inputs raise an error.

    Parameters
    ----------
    scenario : mapping or list of mappings, optional
        Inputs by name, as for `inputs`. A keyword takes precedence. A list of scenarios is shown side by side.
    bands : float
        Level of the prediction interval of calibrated outcomes.
    stale_after : str or float
        Age from which a price causes a warning, as a time: ``"90 d"``, or seconds. It counts from the day the price was
        last seen to ``as_of``, or to today.
    **inputs
        As for `evaluate`, but no axes. The estimate uses ``calibration``, by default ``"serving"`` for a deployment and
        ``"training"`` for a training run. A chip has only the lower bound, unless a calibration is given.

    Returns
    -------
    Summary or Summaries
        `Summaries` for a list. Outcomes without an input are listed with the missing input.

    Raises
    ------
    InputTypeError
        If loads of both kinds are given, or scenarios of different kinds.
    MissingInput
        If the inputs leave the kind open.
    UnknownName, UnitError, ValueRangeError, AxisError, IneffectiveInput
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
    >>> rs.summary(hardware="B200").kind
    'chip'
    >>> rs.summary([{"hardware": "H100"}, {"hardware": "B200"}]).labels
    ['H100', 'B200']
    """
    check_level(bands)
    limit = _seconds(stale_after)
    if scenario is None or isinstance(scenario, Mapping):
        return _summarized(scenario, inputs, bands, limit)
    each: list[Summary] = []
    for k, member in enumerate(_members(scenario), 1):
        each.append(_summarized(member, dict(inputs), bands, limit))
        if each[-1].kind != each[0].kind:
            raise InputTypeError(
                f"summary: scenario 1 is a {each[0].kind} and scenario {k} a {each[-1].kind}. Summarize each by itself."
            )
    return Summaries(tuple(each))


def _members(scenarios: Any) -> Sequence[Mapping[str, Any]]:
    """Check a list of scenarios."""
    if not isinstance(scenarios, (list, tuple)) or not scenarios:
        raise InputTypeError(
            f"summary: expected a mapping of inputs by name, or a list of them, got {shown(scenarios)}"
        )
    for member in scenarios:
        if not isinstance(member, Mapping):
            raise InputTypeError(f"summary: expected a mapping of inputs by name in the list, got {shown(member)}")
    return scenarios


def _seconds(stale_after: Any) -> float:
    try:
        seconds = units.parse(stale_after, "s") if isinstance(stale_after, str) else units.to_base(stale_after, "s")
    except (UnitError, TypeError) as error:
        raise UnitError(f"stale_after: {error}") from None
    if not seconds > 0:
        raise UnitError(f"stale_after: expected a positive time such as '90 d', got {shown(stale_after)}")
    return seconds


def _summarized(scenario: Mapping[str, Any] | None, keywords: dict[str, Any], bands: float, limit: float) -> Summary:
    """Summarize one scenario."""
    day = keywords.get(DAY, (scenario or {}).get(DAY))
    inputs = with_scenario(scenario, keywords)
    kind = kind_of(inputs)
    preset, estimated = _calibration_of(kind, inputs)
    ideal = find_preset("calibration", _FLOOR)
    outcomes = outcomes_of(kind, inputs)
    floor_inputs = Settled(changed(inputs, {"calibration": ideal}))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        floor = evaluated(outcomes, kind, floor_inputs if estimated else changed(inputs, {"calibration": ideal}), ideal)
        result = (
            evaluated(outcomes, kind, changed(inputs, {"calibration": preset}), preset, bands) if estimated else floor
        )
    messages = [
        w for w in caught if issubclass(w.category, RoofslateWarning) and not issubclass(w.category, DoesNotFit)
    ]
    for message in messages:
        warn(str(message.message), message.category)
    estimate_inputs = _carrying(inputs, preset if estimated else ideal, outcomes)
    table = _table(outcomes, floor, result, estimated=estimated)
    support = _joined(table["support"])
    fits = None if kind == CHIP else result.fits
    return Summary(
        kind=kind,
        scenario={name: re.sub(r" \(\d[\d-]*\)$", "", x) for name, x in result.attrs.items() if name not in _NO_INPUTS},
        calibration=result.attrs.get("calibration", "") if estimated else "",
        level=bands,
        support=support,
        layout=result.attrs.get("layout", ""),
        dequantized=result.attrs.get("dequantized", ""),
        fits=fits,
        fitting_chips=fitting_chips(kind, estimate_inputs) if fits is False else None,
        splits=splits_of(kind, estimate_inputs),
        changes=changes_of(kind, estimate_inputs),
        missing=result.missing,
        assumed=assumed(inputs),
        warnings=(
            *queueing(fits, estimate_inputs),
            *([f"The estimate is {support} is not among the measured runs."] if "extrapolated" in support else []),
            *dict.fromkeys(str(message.message) for message in messages),
            *without_effect(result.attrs),
            *stale(inputs, day, limit),
        ),
        _outcomes=outcomes,
        _table=table,
    )


def _calibration_of(kind: str, inputs: Mapping[str, Any]) -> tuple[Preset, bool]:
    """Return the calibration of the estimate, and whether it has fitted constants."""
    given = inputs.get("calibration")
    if given is None:
        training = kind == TRAINING
        given = _FLOOR if kind == CHIP else default_estimate("pass_time", training=training, registry=current())
    elif not isinstance(given, str) and isinstance(given, (list, tuple)):
        raise AxisError("calibration: a summary shows the floor next to one estimate. Give one name.")
    preset = find_preset("calibration", given)
    return preset, getattr(preset, "constants", None) is not None


def _carrying(inputs: Mapping[str, Any], preset: Preset, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the inputs with a calibration, if it matters to an outcome."""
    plain = {name: x for name, x in inputs.items() if name != "calibration"}
    carriers = carriers_of(current())
    matters = any(outcome.quantity in carriers for outcome in outcomes)
    return {**plain, "calibration": preset} if matters else plain


def _joined(supports: Any) -> str:
    """Return the support of the first estimate that has one."""
    return next(filter(None, map(str, supports)), "")


def _table(outcomes: Sequence[Outcome], floor: Evaluated, result: Evaluated, *, estimated: bool) -> pd.DataFrame:
    """Put lower bound and estimate into one table."""
    import pandas as pd

    keys = [outcome.key for outcome in outcomes]
    estimates = [result.numbers[key] if estimated else (math.nan,) * 3 for key in keys]
    return pd.DataFrame(
        {
            "section": [outcome.section for outcome in outcomes],
            "meaning": [outcome.words for outcome in outcomes],
            "unit": [lookup(outcome.quantity).unit for outcome in outcomes],
            "floor": [floor.numbers[key][0] for key in keys],
            **{name: [numbers[k] for numbers in estimates] for k, name in enumerate(("estimate", "lower", "upper"))},
            "basis": [result.basis[key] if estimated else "" for key in keys],
            "support": [result.support[key] if estimated else "" for key in keys],
            "missing": [result.missing.get(key, "") for key in keys],
        },
        index=pd.Index(keys, name="quantity"),
    )


def _plain(x: float) -> float | str | None:
    """Return a number as JSON can hold it."""
    return None if math.isnan(x) else str(x) if math.isinf(x) else x
