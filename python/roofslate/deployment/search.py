"""`deploy`: search for the best deployment of a model on chips, among all legal layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate._base.locks import cached_property
from roofslate._base.messages import shown
from roofslate.deployment.candidates import (
    ARRIVALS,
    CONDITION,
    CROWD,
    LAYOUT,
    MARGIN,
    SUPPORT,
    Candidates,
    reachable,
    with_recipe,
)
from roofslate.deployment.pools import PoolDeployments, PrefillChoices, asked_modes
from roofslate.deployment.result import Deployments
from roofslate.errors import InputTypeError, MissingInput
from roofslate.folds.best import best_points
from roofslate.folds.request import FoldRequest
from roofslate.grid.basis import basis, default_estimate, supports_of_rows
from roofslate.grid.by_position import by_keyword
from roofslate.grid.grid import Grid
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.read import changed, read_grid, with_scenario
from roofslate.grid.run import run
from roofslate.presets.layouts import DIMENSIONS
from roofslate.presets.lookup import PRESETS
from roofslate.registry.conditions import Condition, parse_conditions
from roofslate.registry.registry import Definition, current, lookup
from roofslate.registry.scopes import within
from roofslate.registry.values import Values, wanted_names

if TYPE_CHECKING:
    import pandas as pd

    from roofslate._base.progress import ProgressWish
    from roofslate.registry.registry import Step

__all__ = ["deploy"]

Names = str | Sequence[str]
Places = npt.NDArray[np.intp]
_GOAL = "goal of the search"
_LENGTHS = {"input_tokens": "'8k'", "output_tokens": "'1k'"}
_EXAMPLE = {"objective": "'cost_per_output_token'", "chip_price": "'2 USD/h'", **_LENGTHS}


# Conditions on every deployment, if the quantity before it is given or matters. With a margin, a condition that implies
# `memory_fits`.
_ALWAYS = (
    ("batch_size", "hbm_used <= hbm_capacity"),
    ("concurrency", "min_deployed_bytes <= replica_hbm_capacity"),
    ("concurrency", "concurrency >= min_concurrency"),
    ("tokens_per_step", "training_memory <= hbm_capacity"),
)


# At a rate of arrivals a request needs a slot, and queues an end.
_ALWAYS_AT_A_RATE = ("sequence_slots >= 1", "service_load < 1")


@by_keyword("objective", **_EXAMPLE)
def deploy(
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    objective: str = "",
    where: Names = (),
    maximize: bool = False,
    also: Names = (),
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prefill: Mapping[str, Any] | None = None,
    **inputs: Any,
) -> Deployments:
    """Search the best point of every legal layout, in base units by default.

    A layout consists of the relevant ones of ``chips``, ``pipeline_stages``, ``attention_data_parallel``,
    ``tensor_parallel``, ``expert_parallel``, and in training ``data_parallel`` and ``microbatches``. It is legal if the
    stages divide the chips and each has a layer, the chips of a group divide heads and matrices, and key-value heads
    divide or are copied evenly. Uneven stages and experts cost as much as the fullest. Each part takes all legal values
    unless given as a number or a list. Chips come from a system, otherwise they are powers of two and multiples of
    scale-up domains, up to eight domains. In training these are the chips of a stage, up to 131,072 in all, with the
    best micro-batches that divide the batch. Without `activation_policy` the recipe is searched too: it,
    `sharded_state`, `pipeline_schedule` with `model_chunks`, and `sequence_parallel`.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    objective : str
        Name of the quantity to minimize: ``"cost_per_output_token"``.
    where : str or list of str
        Conditions to meet: ``"time_per_output_token <= 30 ms"``. They always include that weights and KV cache fit in
        memory, and that no group of chips is idle.
    maximize : bool
        Whether to maximize the quantity instead.
    also : str or list of str
        Further quantities to compute at the best points.
    units : str or dict of str, optional
        Unit of the results, or units by quantity: ``{"cost_per_output_token": "USD/Mtoken"}``.
    threads, progress
        As for `evaluate`.
    prefill : mapping, optional
        Disaggregated serving, at an ``arrival_rate``: inputs in which a prefill replica differs from a decode
        replica, such as ``{"hardware": ["H100", "H200"], "chips": [4, 8]}``, ``{}`` for none. Its layout and
        `replicas` are searched too. ``serving_mode=["aggregated", "disaggregated"]`` compares both, which is the
        default with `prefill`. ``"disaggregated"`` searches only disaggregated pools.
    **inputs
        As for `evaluate`. Lists of ``model=``, ``hardware=``, formats and other choices are compared. A difference
        among them is a Series by their names. All other axes are searched. `concurrency` goes from 1 to
        65,536 unless it or ``batch_size`` is given. Each follows from the other. With ``arrival_rate``,
        `replicas` goes from 1 to 4,096 instead, unless it is given too. The deployment is an estimate,
        ``calibration="serving"`` or in training ``"training"``, unless another one is given. ``"floor"`` is the lower
        bound.

    Returns
    -------
    Deployments
        Its `table` has the best point of each layout, best first, its `rejected` those that cannot meet a condition.
        With pools apart a `PoolDeployments`, whose rows also have the ``serving_mode`` and the prefill pool.

    Raises
    ------
    ValueRangeError
        If no layout is legal; it names the broken divisibility rule.
    ConditionError, AxisError, MissingInput, UnknownName, UnitError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> plan = rs.deploy(
    ...     model="DeepSeek-V3", hardware=["H200", "GB200"], objective="cost_per_output_token",
    ...     where=["time_per_output_token <= 30 ms", "time_to_first_token <= 2 s"], expert_reads="expected",
    ...     input_tokens="2k", output_tokens="500", chip_price="$3/hour",
    ... )
    >>> plan.best["hardware"], plan.best["chips"]
    ('GB200', 8.0)
    """
    inputs = with_scenario(scenario, inputs)
    if objective == "":
        raise InputTypeError(f"deploy() needs an objective, such as objective={_EXAMPLE['objective']}")
    names = wanted_names([objective]) if isinstance(objective, str) else []
    if not names:
        raise InputTypeError(f"objective: expected the name of one quantity, got {shown(objective)}")
    further = [n for n in (wanted_names(also) if also else []) if n != objective]
    conditions = parse_conditions(where)
    reported = list(dict.fromkeys([objective, *_quantities_of(conditions), *further]))
    if "calibration" not in inputs:
        training = "tokens_per_step" in reachable(reported, ())
        if training:  # unless something given cuts the path
            training = "tokens_per_step" in reachable(reported, read_grid(inputs).inputs)
        inputs["calibration"] = default_estimate(objective, training=training, registry=current())
    inputs = with_recipe(inputs, reported)
    request = _Request(reported, bool(maximize), tuple(conditions), units, {"threads": threads, "progress": progress})
    modes = asked_modes(inputs, prefill)
    if not modes:
        return _deployed(inputs, request)
    by_mode: dict[str, Deployments] = {}
    choices = None
    if "aggregated" in modes:
        by_mode["aggregated"] = _deployed(changed(inputs, {"serving_mode": "aggregated"}, exempt=True), request)
    if "disaggregated" in modes:
        choices = PrefillChoices(inputs, prefill or {})
        if choices.count:
            by_mode["disaggregated"] = _deployed(choices.handed(inputs), request, plain=inputs)
    return PoolDeployments.of(by_mode, choices)


@dataclass(frozen=True)
class _Request:
    """Requested results of a search for any inputs: quantities of the table, objective first."""

    reported: Sequence[str]
    maximize: bool
    conditions: tuple[Condition, ...]
    units: UnitsOfOutputs | None
    running: Mapping[str, Any]


def _deployed(inputs: Mapping[str, Any], request: _Request, plain: Mapping[str, Any] | None = None) -> Deployments:
    """Search all layouts of these inputs. `plain` are the inputs that determine the basis."""
    reported, conditions = request.reported, request.conditions
    given = read_grid(inputs)
    converted = conversions(reported, request.units)
    always = _always(reachable(reported, given.inputs), given)
    outputs = list(dict.fromkeys([*reported, *_quantities_of(always)]))
    layouts = Candidates(inputs, given, outputs, reachable(outputs, given.inputs))
    if plain is not None:
        fixed = {"serving_mode": "disaggregated", "replicas": 1, **dict.fromkeys(layouts.parts, 1)}
        grid = read_grid(changed(plain, fixed, exempt=True), outputs)
        layouts.basis = {name: basis([name], grid) for name in outputs}
    search = _Search(reported, request.maximize, conditions, always, layouts, request.running)
    table, places, rejected = search.run()
    for frame in (table, rejected):
        columns = set(frame.columns)  # quicker to ask than a table
        for name, (factor, _) in converted.items():
            if name in columns:
                frame[name] /= factor
        if "support" in layouts.basis[reported[0]]:
            named = {keyword: frame[keyword].tolist() for keyword in PRESETS if keyword in columns}
            frame[SUPPORT] = supports_of_rows(reported[0], layouts.grid, named, len(frame))
        for key in ("basis", "calibration", SUPPORT):
            frame.attrs[key] = {n: said[key] for n, said in layouts.basis.items() if n in columns and key in said}
    return Deployments(
        objective=lookup(reported[0]),
        maximize=request.maximize,
        conditions=conditions,
        always=tuple(c.text for c in always),
        table=table,
        rejected=rejected,
        _candidates=layouts,
        units={name: unit for name, (_, unit) in converted.items()},
        _settings=layouts.settings(),
        _axes=layouts.axes(),
        _places=places,
        basis=layouts.basis[reported[0]],
    )


def _quantities_of(conditions: Iterable[Condition]) -> list[str]:
    """The quantities that conditions compare, each once."""
    return list(dict.fromkeys(n for c in conditions for side in (c.lhs, c.rhs) for n in side.quantities))


def _always(reached: Mapping[str, None], given: Grid) -> list[Condition]:
    """Return the conditions on every deployment that apply to these inputs."""
    if not given.inputs.keys().isdisjoint(ARRIVALS):
        return list(parse_conditions(list(_ALWAYS_AT_A_RATE)))
    conditions = []
    unsaid = "concurrency" if "batch_size" in given.inputs else "batch_size"  # follows from the other
    searched = {*DIMENSIONS, *({"concurrency"} if given.inputs.keys().isdisjoint(CROWD) else ())}
    point = {name: float(np.ravel(i.values)[0]) for name, i in given.inputs.items()}
    point = {**dict.fromkeys(searched, 1.0), **point}
    for trigger, text in _ALWAYS:
        serving = trigger == "tokens_per_step" or "tokens_per_step" not in reached or "pass_time" in reached
        if trigger != unsaid and serving and (trigger in reached or trigger in given.inputs):
            (condition,) = parse_conditions(text)
            if _is_computable(_quantities_of([condition]), point):
                conditions.append(condition)
    return conditions


def _is_computable(names: Iterable[str], point: dict[str, float]) -> bool:
    """Return True if quantities can be computed from these inputs."""
    try:
        for name in names:
            _core.number(name, point)
    except MissingInput:
        return False
    return True


class _Search:
    """Search for the best point of each layout, or the smallest miss if none is feasible.

    Goals and margins are quantities only of the search. The engine computes them with all others.
    """

    def __init__(
        self,
        outputs: Sequence[str],
        maximize: bool,
        conditions: Sequence[Condition],
        always: Sequence[Condition],
        layouts: Candidates,
        running: Mapping[str, Any],
    ) -> None:
        self.objective, self.maximize = outputs[0], maximize
        self.layouts, self.running = layouts, running
        self.over = _searched_axes(layouts.searched)
        self.told = [name for name in outputs if name not in self.over and name not in layouts.columns]
        # Of the micro-batches of a layout those count that do best.
        self.apart = [*layouts.kinds, *(part for part in layouts.parts if part != "microbatches")]
        self.always = [c.text for c in always]
        self.conditions = {c.text: c for c in (*conditions, *always)}
        self.where = list(self.conditions)
        margins = {c.text: _margin(c) for c in (*conditions, *always) if _has_margin(c)}
        self.measured = list(margins)
        self.made = [_made(text, "1", steps) for text, steps in margins.items()]

    def run(self) -> tuple[pd.DataFrame, Places, pd.DataFrame]:
        """Return the feasible layouts, best first, their positions, and the others, nearest first."""
        import pandas as pd

        everything = np.arange(self.layouts.count)
        at = everything[self._hopeful(everything, self.where)]
        if not len(at):  # a table has its columns even without rows
            at = everything
        steps: tuple[Step, ...] = (("quantity", self.objective),)
        goals, places = self._best(at, steps, lookup(self.objective).unit, self.where, self.maximize)
        met = np.flatnonzero(~np.isnan(goals))
        some = met if len(met) else np.zeros(1, dtype=np.intp)  # the columns stay if no layout is feasible
        columns = self._columns(at[some], {dim: position[some] for dim, position in places.items()})
        rank = columns[self.objective][: len(met)]
        if rank.dtype.kind == "f":
            rows = np.argsort(-rank if self.maximize else rank, kind="stable")
        else:
            rows = pd.Series(rank).sort_values(ascending=not self.maximize, kind="stable").index.to_numpy()
        at = at[met]
        layouts = self._layouts
        rows = self._distinct(rows, layouts[at])
        table = {name: values[rows] for name, values in columns.items()}
        if self.measured:
            table[MARGIN] = np.fmin.reduce([table[name] for name in self.measured])
        remaining = np.flatnonzero(~np.isin(layouts, layouts[at]))
        ranks = pd.RangeIndex(1, len(rows) + 1, name="rank")
        return pd.DataFrame(table, index=ranks), at[rows], self._rejected(remaining)

    @cached_property
    def _missed(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Return infeasible layouts by condition, for conditions independent of searched axes."""
        searched = self.layouts.searched
        moving = {name for name, i in searched.inputs.items() if set(i.dims) - {LAYOUT}}
        still = [text for text in self.measured if moving.isdisjoint(self._reached_by(text))]
        if not still:
            return {}
        with within((*current().definitions, *self.made)):
            margins, _ = run(Grid(searched.inputs, searched.sizes, searched.coords), still, threads=1, progress=False)
        shape = (self.layouts.count,)
        return {text: np.broadcast_to(margin < 0, shape) for text, (margin, _) in zip(still, margins, strict=True)}

    def _reached_by(self, text: str) -> Mapping[str, None]:
        return reachable(_quantities_of([self.conditions[text]]), self.layouts.given.inputs)

    def _hopeful(self, at: Places, where: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return True for layouts that may meet the conditions at some point."""
        missed = [self._missed[text][at] for text in where if text in self._missed]
        return ~np.logical_or.reduce(missed) if missed else np.ones(len(at), dtype=bool)

    def _parts_of(self, at: Places) -> dict[str, Any]:
        """Return columns of compared kinds and of the parts of these layouts."""
        columns: dict[str, Any] = self.layouts.named([position[at] for position in self.layouts.places])
        return columns | {part: values[at] for part, values in self.layouts.columns.items()}

    @cached_property
    def _layouts(self) -> Places:
        """A number for each candidate, the same for those that only differ in their micro-batches."""
        if "microbatches" not in self.layouts.parts:
            return np.arange(self.layouts.count)
        columns = self._parts_of(np.arange(self.layouts.count))
        numbers: dict[tuple[Any, ...], int] = {}
        rows = zip(*(columns[name].tolist() for name in self.apart), strict=True) if self.apart else ()
        layouts = [numbers.setdefault(row, len(numbers)) for row in rows]
        return np.array(layouts, dtype=np.intp) if layouts else np.zeros(self.layouts.count, dtype=np.intp)

    def _distinct(self, rows: Places, layouts: Places) -> Places:
        """The first row of each layout."""
        if "microbatches" not in self.layouts.parts:
            return rows
        _, first = np.unique(layouts[rows], return_index=True)
        return rows[np.sort(first)]

    def _best(
        self, at: Places, goal: tuple[Step, ...], unit: str, where: Sequence[str], maximize: bool
    ) -> tuple[Values, dict[str, Places]]:
        """Return the best value of a goal per layout, NaN if infeasible, and its position."""
        with within((*current().definitions, *self.made, _made(_GOAL, unit, goal))):
            conditions = [self.conditions[text] for text in where]
            request = FoldRequest.of_grid(self.layouts.of(at), [_GOAL], conditions, self.over)
            points = best_points(request, _GOAL, [], maximize=maximize, **self.running)
        goals: Values = np.broadcast_to(points.results[_GOAL][0], at.shape)
        return goals, {dim: np.broadcast_to(position, at.shape).astype(np.intp) for dim, position in points.at.items()}

    def _columns(self, at: Places, places: Mapping[str, Places]) -> dict[str, Any]:
        """Return columns by layout: its parts, its position on the searched axes, the outputs."""
        shown = [*self.told, *self.measured]
        request = FoldRequest.of_grid(self.layouts.of(at), shown, [], self.over)
        axes = [LAYOUT] if LAYOUT in request.kept else []
        positions = places if axes else {dim: indices[0] for dim, indices in places.items()}
        with within((*current().definitions, *self.made)):
            results, _ = run(request.at_places(positions, axes), shown, threads=self.running["threads"], progress=False)
        columns = self._parts_of(at) | {dim: request.coordinate(dim, places[dim]) for dim in self.over}
        for name, (result, _) in zip(shown, results, strict=True):
            values = np.broadcast_to(result, at.shape)
            choices = lookup(name).choices if name in self.told else ()
            words = [choices[int(x)] if x == x else "" for x in values] if choices else None
            columns[name] = values if words is None else np.array(words, dtype=np.str_)
        return columns

    def _rejected(self, at: Places) -> pd.DataFrame:
        """Return the smallest miss of each of these layouts, then the kinds without a legal one.

        The smallest miss counts among deployable points, or among all points if there are none.
        """
        import pandas as pd

        individual = [text for text in self.measured if text not in self.always]
        remaining = [text for text in self.where if text not in self.measured]
        stages: list[_Stage] = []
        for measured, where in ((individual, [*remaining, *self.always]), (self.always, remaining), ([], [])):
            able = at[self._hopeful(at, where)]
            if not len(able):
                continue
            goal = _least(measured) if measured else (("constant", 0.0),)
            margin, places = self._best(able, goal, "1", where, True)
            layouts = self._layouts[able]
            rows = np.flatnonzero(~np.isnan(margin))
            done = layouts[rows]
            rows = self._distinct(rows[np.argsort(-margin[rows], kind="stable")], layouts)
            if len(rows):
                own_places = {dim: position[rows] for dim, position in places.items()}
                stages.append(_Stage(measured, able[rows], own_places, margin[rows]))
            at = at[~np.isin(self._layouts[at], done)]
        if not stages and not self.layouts.reasons:
            return pd.DataFrame({CONDITION: [], MARGIN: []})
        tables = [pd.DataFrame(self._misses(stages, remaining))] if stages else []
        if reasons := self.layouts.reasons:
            kinds = list(np.array([position for position, _ in reasons], dtype=np.intp).T)
            illegal = {CONDITION: [reason for _, reason in reasons], MARGIN: np.nan}
            tables.append(pd.DataFrame(illegal | self.layouts.named(kinds)))
        return tables[0] if len(tables) == 1 else pd.concat(tables, ignore_index=True)

    def _misses(self, stages: Sequence[_Stage], unmeasured: Sequence[str]) -> dict[str, Any]:
        """Return columns by layout, stage after stage: the largest miss with its value and margin."""
        places = {dim: np.concatenate([stage.places[dim] for stage in stages]) for dim in self.over}
        columns = self._columns(np.concatenate([stage.at for stage in stages]), places)
        undefined = f"{self.objective} is undefined"
        reasons, margins, end = [], [], 0
        for stage in stages:
            begin, end = end, end + len(stage.at)
            if stage.measured:
                each = np.stack([columns[text][begin:end] for text in stage.measured])
                worst = np.argmin(np.where(np.isnan(each), np.inf, each), axis=0)
                names = np.array(stage.measured, dtype=object)
                reasons.append(np.where(stage.margin > 0, undefined, names[worst]))
                margins.append(stage.margin)
            else:
                reasons.append(np.full(len(stage.at), " and ".join(unmeasured) or undefined, dtype=object))
                margins.append(np.full(len(stage.at), np.nan))
        return {CONDITION: np.concatenate(reasons), MARGIN: np.concatenate(margins)} | columns


@dataclass(frozen=True)
class _Stage:
    """Layouts with the same missed conditions: the maximum over points of the least margin."""

    measured: Sequence[str]
    at: Places
    places: Mapping[str, Places]
    margin: Values


def _made(name: str, unit: str, steps: tuple[Step, ...]) -> Definition:
    return Definition(name, name, unit, name, "this search", steps)


def _has_margin(condition: Condition) -> bool:
    """Return True for a condition with a margin: between numbers, none of them infinite."""
    sides = (condition.lhs, condition.rhs)
    endless = any(side.steps == (("constant", end),) for side in sides for end in (np.inf, -np.inf))
    return condition.relation in ("<", "<=") and not endless


def _margin(condition: Condition) -> tuple[Step, ...]:
    """Return steps for the margin, relative to the side without quantities or the right one."""
    steps = list(condition.rhs.steps)
    right = len(steps) - 1
    lhs = right + len(condition.lhs.steps)
    steps += [_moved(step, right + 1) for step in condition.lhs.steps]
    steps.append(("sub", right, lhs))
    limit = lhs if condition.rhs.quantities and not condition.lhs.quantities else right
    if steps[limit] != ("constant", 0.0):  # of which nothing is a share
        steps += [("neg", limit), ("max", limit, lhs + 2), ("div", lhs + 1, lhs + 3)]
    return tuple(steps)


def _moved(step: Step, by: int) -> Step:
    """A step of a formula that follows upon others."""
    if step[0] in ("quantity", "constant"):
        return step
    return (step[0], *(k + by for k in step[1:]))  # type: ignore[return-value, operator]


def _least(names: Sequence[str]) -> tuple[Step, ...]:
    """The least of some quantities."""
    steps: list[Step] = [("quantity", names[0])]
    for name in names[1:]:
        steps += [("quantity", name), ("min", len(steps) - 1, len(steps))]
    return tuple(steps)


def _searched_axes(grid: Grid) -> list[str]:
    """Return axes other than the layouts': axes of inputs first, then inputs that are axes."""
    mixed = [dim for name, i in grid.inputs.items() if i.dims != (name,) for dim in i.dims if dim != LAYOUT]
    axes = [name for name, i in grid.inputs.items() if i.dims == (name,)]
    return list(dict.fromkeys([*mixed, *axes]))
