"""Disaggregated serving: possible prefill pools, and deployments of both pools."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate._base.locks import cached_property
from roofslate._base.messages import shown, unknown
from roofslate.deployment.candidates import ARRIVALS, CONDITION, LAYOUT, MARGIN, Candidates, octaves, reachable
from roofslate.deployment.launch import LaunchCommand, launch_command
from roofslate.deployment.result import Deployments
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled, changed, read_grid
from roofslate.grid.run import run
from roofslate.presets.layouts import DIMENSIONS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["PoolDeployments", "PrefillChoices", "asked_modes"]


_MODES = ("aggregated", "disaggregated")


_POOL = "prefill_pool"  # the axis of prefill pools


# A prefill pool as inputs of the decode replicas: each input, and the pool's quantity that it equals.
_HANDED = {
    "prompts_ahead_share": "prefill_wait_probability",
    "prompts_ahead_time": "prefill_wait_time",
    "prompt_work_time": "prompt_work_time",
    "prompt_pass_overhead": "prompt_pass_overhead",
    "prefill_pool_load": "prefill_pool_load",
    "exposed_kv_transfer_time": "exposed_kv_transfer_time",
    "prefill_replica_chips": "chips",
    "prefill_replica_price": "replica_price",
}
_LIMITS = ("prefill_pool_load", "kv_link_load", "memory_limited_sequences")
_SHOWN = ("prefill_pool_load", "mean_prefill_wait", "kv_link_demand")  # columns of each pool


_ENOUGH = 1e-4  # share of the requests that wait, below which more replicas change nothing
_ALIKE = 1.02  # a pool that costs no less is no other one unless it is quicker by more than this factor
_MOST_OCTAVES = 10
_OCTAVE = 8


def asked_modes(inputs: Mapping[str, Any], prefill: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the serving modes to compare, or none without a prefill pool."""
    if prefill is not None and not hasattr(prefill, "keys"):
        raise InputTypeError(f"prefill: expected a mapping of inputs of the prefill pool, got {shown(prefill)}")
    given = inputs.get("serving_mode")
    if all(inputs.get(name) is None for name in ARRIVALS):
        if prefill is not None:
            raise MissingInput(
                "prefill= needs arrival_rate (in sequence/s): pools are sized for the requests that arrive"
            )
        return ()
    if given is None:
        return () if prefill is None else _MODES
    modes = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else ()
    for mode in modes:
        if mode not in _MODES:
            raise unknown("serving_mode", mode, _MODES)
    if not modes:
        raise InputTypeError(f"serving_mode: expected one or both of {', '.join(_MODES)}, got {shown(given)}")
    if modes == ("aggregated",) and prefill is not None:
        raise InputTypeError('prefill= is for serving_mode="disaggregated"; leave out one of the two')
    return modes if "disaggregated" in modes else ()


class PrefillChoices:
    """Prefill pools that sustain the arrivals, without dominated ones.

    Parameters
    ----------
    inputs : mapping
        Those of the service.
    prefill : mapping
        Those in which a replica of the pool differs; ``replicas`` are the pool's.

    Attributes
    ----------
    table : dict of numpy.ndarray
        By column, a value for each pool: hardware, layout, replicas, and results.
    """

    def __init__(self, inputs: Mapping[str, Any], prefill: Mapping[str, Any]) -> None:
        prefill_inputs = dict(prefill)
        replicas = prefill_inputs.pop(
            "replicas", prefill_inputs.pop("prefill_replicas", inputs.get("prefill_replicas"))
        )
        if replicas is None:
            replicas = octaves()[: _OCTAVE * _MOST_OCTAVES]
        merged = {
            **inputs,
            **prefill_inputs,
            "serving_mode": "disaggregated",
            "prefill_replicas": replicas,
            "replicas": 1,
        }
        self._inputs = Settled({name: x for name, x in merged.items() if x is not None})
        given = read_grid(self._inputs)
        names = [*dict.fromkeys([*_HANDED.values(), *_LIMITS, *_SHOWN])]
        if not _has_price(self._inputs):
            names.remove("replica_price")
        self._layouts = Candidates(self._inputs, given, names, reachable(names, given.inputs))
        self._check_axes(prefill_inputs)
        values, _ = run(self._layouts.searched, names, threads=1, progress=False)
        sizes = self._layouts.searched.sizes
        count = np.ravel(self._layouts.searched.inputs["prefill_replicas"].values)
        shape = (self._layouts.count, len(count))
        columns = {
            name: np.broadcast_to(_along(x, dims, sizes), shape) for name, (x, dims) in zip(names, values, strict=True)
        }
        able = (columns["prefill_pool_load"] < 1) & (columns["kv_link_load"] < 1)
        able &= columns["memory_limited_sequences"] >= 1
        waits = np.where(able, columns["prefill_wait_probability"], 1.0)
        able[:, 1:] &= waits[:, :-1] > _ENOUGH  # the first with none is the last that counts
        at, places = np.nonzero(able)
        columns = {name: x[at, places] for name, x in columns.items()} | {"prefill_replicas": count[places]}
        best = _undominated(columns)
        self._at = at[best]
        self._columns = {name: x[best] for name, x in columns.items()}
        self.count = len(self._at)

    def _check_axes(self, prefill_inputs: Mapping[str, Any]) -> None:
        """Refuse lists that both pools would have to share."""
        known = {LAYOUT, "prefill_replicas", "hardware"}
        for dim in [*self._layouts.searched.sizes, *self._layouts.kinds]:
            if dim not in known and dim not in prefill_inputs and dim not in DIMENSIONS:
                raise InputTypeError(
                    f"{dim}: pools apart compare hardware and layouts; give one {dim}, or the pool's own in prefill="
                )

    @cached_property
    def table(self) -> dict[str, npt.NDArray[Any]]:
        places = [index[self._at] for index in self._layouts.places]
        columns = self._layouts.named(places) | {part: x[self._at] for part, x in self._layouts.columns.items()}
        table = {_prefixed(name): np.asarray(x) for name, x in columns.items()}
        return table | {name: self._columns[name] for name in ("prefill_replicas", *_SHOWN)}

    def handed(self, inputs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Inputs of the replicas that decode, with the pools along an axis."""
        import xarray as xr

        new = {name: self._columns[column] for name, column in _HANDED.items() if column in self._columns}
        new["prefill_replicas"] = self._columns["prefill_replicas"]
        arrays = {name: xr.DataArray(x, dims=_POOL) for name, x in new.items()}
        return changed(inputs, {"serving_mode": "disaggregated", **arrays}, exempt=True)

    def at(self, pool: int) -> dict[str, Any]:
        """A replica of a pool as inputs of any call."""
        inputs = {}
        for name, (values, dims) in self._layouts.settings().items():
            array = np.asarray(values)
            value = array[int(self._at[pool])] if dims == (LAYOUT,) else array
            if not dims or dims == (LAYOUT,):
                inputs[name] = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
        return inputs | {"prefill_replicas": float(self._columns["prefill_replicas"][pool])}


def _has_price(inputs: Mapping[str, Any]) -> bool:
    try:
        evaluate("replica_price", Settled({**inputs, "chips": 1, "pipeline_stages": 1, "prefill_replicas": 1}))
    except MissingInput:
        return False
    return True


def _along(values: Any, dims: Sequence[str], sizes: Mapping[str, int]) -> npt.NDArray[np.float64]:
    """Values of layouts and numbers of replicas as a table of both."""
    array = np.asarray(values, dtype=float)
    shape = [sizes[dim] if dim in dims else 1 for dim in (LAYOUT, "prefill_replicas")]
    if dims == ("prefill_replicas", LAYOUT):
        array = array.T
    return array.reshape(shape)


def _undominated(columns: Mapping[str, npt.NDArray[np.float64]]) -> npt.NDArray[np.intp]:
    """Return the non-dominated pools in price, chips, mean and tail of time to first token."""
    replicas, waits = columns["prefill_replicas"], columns["prefill_wait_time"]
    share = columns["prefill_wait_probability"]
    chips = replicas * columns["chips"]
    price = replicas * columns["replica_price"] if "replica_price" in columns else chips
    fixed = columns["prompt_work_time"] + columns["prompt_pass_overhead"] + columns["exposed_kv_transfer_time"]
    late = fixed + waits * np.maximum(np.log(np.maximum(share, 1e-300) / 1e-3), 0)
    late = late + 3 * columns["prompt_work_time"]  # a long prompt, in addition to the mean one
    goals = np.stack([price, chips, fixed + share * waits, late], axis=1)
    tolerance = np.array([1.0, 1.0, _ALIKE, _ALIKE])
    order = np.lexsort(goals.T[::-1])
    goals_of_frontier = np.empty((0, goals.shape[1]))
    frontier = []
    for row in order:
        if not len(goals_of_frontier) or not (goals_of_frontier <= goals[row] * tolerance).all(axis=1).any():
            goals_of_frontier = np.vstack([goals_of_frontier, goals[row]])
            frontier.append(row)
    return np.sort(np.array(frontier, dtype=np.intp))


def _prefixed(name: str) -> str:
    return name if name.startswith("prefill_") else f"prefill_{name}"


@dataclass(frozen=True, repr=False)
class PoolDeployments(Deployments):
    """Aggregated, disaggregated or both kinds of deployments, as `deploy` finds them.

    As `Deployments`; rows also have the ``serving_mode``, and those apart the hardware, layout and replicas of the
    prefill pool in columns that begin with ``prefill_``, its load, its mean wait and the bytes a second that each of
    its replicas sends. `at` gives the replicas that decode, with all that the prefill pool is to them; `prefill_at`
    gives a replica that prefills.

    Attributes
    ----------
    by_mode : dict of Deployments
        The search of each serving mode.
    """

    by_mode: Mapping[str, Deployments]
    _choices: PrefillChoices | None
    _rows_of: Sequence[tuple[str, int]]

    @classmethod
    def of(cls, by_mode: Mapping[str, Deployments], choices: PrefillChoices | None) -> PoolDeployments:
        """All deployments of the modes in one table."""
        import pandas as pd

        if not by_mode:
            raise ValueRangeError(
                "no prefill pool keeps up with arrival_rate: in every layout its load or that of its links is at "
                "least 1, or its memory holds no sequence. Give prefill= more chips or replicas"
            )
        first = next(iter(by_mode.values()))
        tables, rejected_tables, rows_of = [], [], []
        for mode, plan in by_mode.items():
            tables.append(_with_pools(plan.table, mode, choices))
            rejected_tables.append(_with_pools(plan.rejected, mode, choices))
            rows_of += [(mode, int(rank)) for rank in plan.table.index]
        table = pd.concat(tables, ignore_index=True)
        name = first.objective.name
        order = table[name].sort_values(ascending=not first.maximize, kind="stable").index
        table = table.loc[order].set_axis(pd.RangeIndex(1, len(table) + 1, name="rank"))
        table.attrs = dict(first.table.attrs)
        rejected = pd.concat(rejected_tables, ignore_index=True)
        if MARGIN in rejected:
            rejected = rejected.sort_values(MARGIN, ascending=False, kind="stable", ignore_index=True)
        values = {f.name: getattr(first, f.name) for f in fields(Deployments)}
        values |= {"table": table, "rejected": rejected}
        return cls(**values, by_mode=dict(by_mode), _choices=choices, _rows_of=[rows_of[k] for k in order])

    @property
    def inputs(self) -> dict[str, Any]:
        """Only for one search. Here, `by_mode` has one for each mode."""
        raise InputTypeError('inputs: each serving mode has its own; take by_mode["disaggregated"].inputs')

    def at(self, rank: int) -> dict[str, Any]:
        """Return the decode replicas of a table row as inputs of a call, like `Deployments.at`."""
        if rank not in self.table.index:
            raise ValueRangeError(f"rank: the table has {len(self.table)} rows, got {rank!r}")
        mode, rank_in_mode = self._rows_of[rank - 1]
        return self.by_mode[mode].at(rank_in_mode)

    def command(self, engine: str = "vllm", rank: int = 1, **options: Any) -> LaunchCommand:
        """Write the launch command of a row of the table, with its prefill pool."""
        decode = self.best if rank == 1 else self.at(rank)
        if self._rows_of[rank - 1][0] == "disaggregated":
            options.setdefault("prefill", self.prefill_at(rank))
        return launch_command(decode, engine, **options)

    def prefill_at(self, rank: int = 1) -> dict[str, Any]:
        """A replica that prefills, of a row of the table with pools apart, as inputs of any call.

        Parameters
        ----------
        rank : int
            Its place in the table, from 1.

        Returns
        -------
        dict

        Raises
        ------
        ValueRangeError
            If there is no such row, or it has no prefill pool.
        """
        self.at(rank)
        mode, rank_in_mode = self._rows_of[rank - 1]
        if mode != "disaggregated" or self._choices is None:
            raise ValueRangeError(f"rank: row {rank} prefills and decodes together, it has no prefill pool")
        return self._choices.at(int(self.by_mode[mode].table[_POOL].loc[rank_in_mode]))

    def _frontier(self, where: Sequence[str], **wishes: Any) -> pd.DataFrame:
        import pandas as pd

        goals = dict.fromkeys(_listed(wishes.get("minimize")), 1)
        goals |= dict.fromkeys(_listed(wishes.get("maximize")), -1)
        frontiers = [
            _with_pools(plan._frontier(where, **wishes), mode, self._choices) for mode, plan in self.by_mode.items()
        ]
        both = pd.concat(frontiers, ignore_index=True)
        values = np.stack([sign * both[name].to_numpy(dtype=float) for name, sign in goals.items()], axis=1)
        beaten = [((values <= point).all(axis=1) & (values < point).any(axis=1)).any() for point in values]
        return both[~np.array(beaten, dtype=bool)].sort_values(next(iter(goals)), ignore_index=True)

    @property
    def _layout_columns(self) -> Sequence[str]:
        columns = map(str, self.table.columns)
        pools = [name for name in columns if name.startswith("prefill_") or name in _SHOWN]
        return [*super()._layout_columns, "serving_mode", *pools]

    def _named(self, row: Any) -> str:
        decode = super()._named(row)
        if row.get("serving_mode") != "disaggregated":
            return f"together: {decode}"
        if row.get("prefill_replicas") is None or row["prefill_replicas"] != row["prefill_replicas"]:
            return f"apart: {decode}"
        pool_values = {
            name.removeprefix("prefill_"): row[name] for name in row.index if str(name).startswith("prefill_")
        }
        words = [pool_values["hardware"]] if "hardware" in pool_values else []
        parts = {name: pool_values[name] for name in DIMENSIONS if name in pool_values}
        words += [DIMENSIONS[name].text.format(int(n)) for name, n in parts.items() if n > 1 or name == "chips"]
        prefill = ", ".join(words).replace(" 1 chips", " 1 chip")
        return f"apart: {decode}; prefill {int(pool_values['replicas'])} x {prefill or 'the same'}"

    def _summary(self) -> str:
        best = {mode: plan.table[self.objective.name].iloc[0] for mode, plan in self.by_mode.items() if len(plan.table)}
        words = [f"{_WORDS[mode]} {self._written(self.objective.name, x)}" for mode, x in best.items()]
        return super()._summary() + (f"; {', '.join(words)}" if len(words) > 1 else "")


_WORDS = {"aggregated": "together", "disaggregated": "apart"}


def _listed(names: Any) -> list[str]:
    return [] if names is None else [names] if isinstance(names, str) else list(names)


def _with_pools(table: pd.DataFrame, mode: str, choices: PrefillChoices | None) -> pd.DataFrame:
    """A table of a mode, with columns of the prefill pool in place of its number."""
    result = table.copy()
    start = 1 if CONDITION in result else 0
    start += 1 if MARGIN in list(result.columns[:2]) else 0
    result.insert(start, "serving_mode", mode)
    if _POOL not in result or choices is None:
        return result
    at = result.pop(_POOL).to_numpy()
    known = at == at
    index = np.where(known, at, 0).astype(np.intp)
    for name, values in choices.table.items():
        column = np.asarray(values)[index]
        result[name] = column if known.all() else np.where(known, column, np.nan)
    return result
