"""Candidates of `deploy`: legal layouts of all kinds on one axis, and all inputs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate.errors import MissingInput, ValueRangeError
from roofslate.grid.basis import basis
from roofslate.grid.checks import check_bounds
from roofslate.grid.grid import Grid, Input
from roofslate.grid.read import Settled, changed, read_grid
from roofslate.presets.layouts import DIMENSIONS, SIZES, dimensions_searched, legal_layouts
from roofslate.presets.lookup import PRESETS, preset_numbers
from roofslate.registry.registry import Registry, current, kept_by_registry, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


__all__ = [
    *("ARRIVALS", "CONDITION", "CROWD", "LAYOUT", "MARGIN", "RECIPE", "SUPPORT"),
    *("Candidates", "octaves", "reachable", "with_recipe"),
]


LAYOUT = "candidate"  # the axis of layouts


CONDITION, MARGIN, SUPPORT = "condition", "margin", "support"  # columns of the tables


Places = npt.NDArray[np.intp]


CROWD = ("concurrency", "batch_size")  # served load, by default a search over concurrency


ARRIVALS = ("arrival_rate", "session_rate")  # at a rate of which replicas are searched, unless they are given


# How a training run keeps activations, shares its state and orders its work: searched where none of it is said.
RECIPE: Mapping[str, Any] = MappingProxyType(
    {
        "activation_policy": ["all", "selective", "block"],
        "sharded_state": ["optimizer", "gradients", "weights"],
        "pipeline_schedule": ["1f1b", "interleaved"],
        "model_chunks": [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16],
        "sequence_parallel": "on",
    }
)
_UNSAID = "activation_policy"  # which has no default


_DOMAINS = 8  # scale-up domains that a replica takes at most, unless chips are given


_MOST_TRAINING_CHIPS = 2**17


_OCTAVE = 8  # steps of an octave in which clients and batches are tried


_MOST_OCTAVES = 16


_MOST_REPLICA_OCTAVES = 12


class Candidates:
    """All legal layouts of all kinds of deployment, i.e. combinations of presets and choices.

    Parameters
    ----------
    inputs : mapping
        Inputs of the call.
    given : Grid
        The same, read.
    wanted : sequence of str
        All quantities that will be asked for.
    reached : mapping
        All that they depend on.

    Attributes
    ----------
    parts : list of str
        The parts of a layout that matter.
    kinds : list of str
        The axes whose values make kinds.
    columns : dict of numpy.ndarray
        Each of the parts, by layout.
    places : list of numpy.ndarray
        The position along each axis of kinds, by layout.
    reasons : list of tuple
        Positions of the kinds that have no legal layout, and the broken divisibility rule.
    basis : dict
        By output: whether it is a bound or an estimate, as attributes.
    searched : Grid
        Everything along an axis of layouts and the axes that are searched.
    """

    def __init__(
        self, inputs: Mapping[str, Any], given: Grid, outputs: Sequence[str], reached: Mapping[str, None]
    ) -> None:
        self.given = given
        self.training = "tokens_per_step" in reached
        self.parts = self._parts(reached)
        crowd: dict[str, Any] = {}
        if given.inputs.keys().isdisjoint(ARRIVALS):
            if self._has_crowd(reached) and given.inputs.keys().isdisjoint(CROWD):
                crowd["concurrency"] = octaves()
        elif "replicas" not in given.inputs:
            crowd["replicas"] = octaves()[: _OCTAVE * _MOST_REPLICA_OCTAVES]
        alone = dict.fromkeys(self.parts, 1)  # until the layouts are known
        self.grid = read_grid(changed(inputs, {**crowd, **alone}, exempt=True), outputs)
        self.basis = {name: basis([name], self.grid) for name in outputs}
        for name in alone:
            del self.grid.inputs[name]
        self.grid.release()
        self.kinds = self._kinds()
        self.reasons: list[tuple[tuple[int, ...], str]] = []
        self.columns, self.places = self._legal()
        self.searched = self._along_layouts()
        check_bounds(self.searched)

    def _parts(self, reached: Mapping[str, None]) -> list[str]:
        """Relevant dimensions of a layout. In training, chips also hold copies of the model."""
        if self.training and "chips" in reached:
            reached = {**reached, "data_parallel": None}
        return dimensions_searched(reached, self.given.inputs, training=self.training)

    def _has_crowd(self, reached: Mapping[str, None]) -> bool:
        """Return True if outputs depend on concurrent requests. A training run has none."""
        return "concurrency" in reached and not (self.training and _UNSAID in reached and "pass_time" not in reached)

    def _kinds(self) -> list[str]:
        """The axes whose values make kinds."""
        dims = {dim for dim in self.grid.sizes if dim in PRESETS}
        for name, i in self.grid.inputs.items():
            if i.origin or i.quantity.choices or name in SIZES or name == "scale_up_domain":
                dims |= set(i.dims)
        return [dim for dim in self.grid.sizes if dim in dims]

    def _legal(self) -> tuple[dict[str, Places], list[Places]]:
        """Return the parts of each legal layout, and its kind's position on the axes of kinds."""
        parts: list[npt.NDArray[np.int64]] = []
        places = []
        for position in np.ndindex(*(self.grid.sizes[dim] for dim in self.kinds)):
            if self._is_repeated(dict(zip(self.kinds, position, strict=True))):
                continue
            try:
                layouts = self._legal_of(dict(zip(self.kinds, position, strict=True)))
            except ValueRangeError as error:
                self.reasons.append((position, str(error)))
                continue
            parts.append(layouts)
            places.append(np.tile(np.array(position, dtype=np.intp)[:, np.newaxis], layouts.shape[1]))
        if not parts:
            raise ValueRangeError(f"no layout is legal: {self.reasons[0][1]}")
        columns = dict(zip(self.parts, np.concatenate(parts, axis=1), strict=True))
        return columns, list(np.concatenate(places, axis=1))

    def _is_repeated(self, position: Mapping[str, int]) -> bool:
        """Return True if a kind repeats another one, with chunks that its schedule lacks."""
        chunks, schedule = (self.grid.inputs.get(name) for name in ("model_chunks", "pipeline_schedule"))
        if chunks is None or schedule is None or not position.get("model_chunks"):
            return False
        interleaved = schedule.quantity.choices.index("interleaved")
        return bool((_at(schedule, position) != interleaved).all())

    def _legal_of(self, position: Mapping[str, int]) -> npt.NDArray[np.int64]:
        """Return the legal layouts of a kind by relevant parts, or one empty row if none is."""
        if not self.parts:
            return np.empty((0, 1), np.int64)
        candidates: dict[str, Any] = dict.fromkeys(
            part for part in self.parts if part not in ("chips", "expert_parallel")
        )
        if not self.training:
            candidates["attention_data_parallel"] = None
        for part in (*self.parts, "tensor_parallel", "attention_data_parallel", "expert_parallel"):
            i = self.given.inputs.get(part)
            if i is not None and i.origin is None:
                candidates[part] = np.unique(_at(i, position))
        if "chips" not in candidates:
            candidates["chips"] = self._chips(position)
        sizes = {name: _at(self.grid.inputs[name], position) for name in SIZES if name in self.grid.inputs}
        return _legal_rows(
            tuple(self.parts),
            tuple((name, x if x is None else tuple(np.ravel(x).tolist())) for name, x in candidates.items()),
            tuple((name, float(x)) for name, x in sizes.items() if x.size == 1),
        )

    def _chips(self, position: Mapping[str, int]) -> npt.NDArray[np.float64]:
        """Return chip counts: a system's, or powers of two and multiples of scale-up domains."""
        given_chips = [preset_numbers(p).get("chips") for p in self._chosen("hardware", position)]
        if known_chips := [x for x in given_chips if x is not None]:
            return np.array(known_chips)
        if "scale_up_domain" not in self.grid.inputs:
            raise MissingInput(
                "deploy tries chips up to eight scale-up domains: give chips=, a number or a list, or hardware= whose "
                "scale_up_domain is known"
            )
        domain = float(_at(self.grid.inputs["scale_up_domain"], position).max())
        most = max(_DOMAINS * domain, _MOST_TRAINING_CHIPS if self.training else 0)
        counts = np.array([*(2.0 ** np.arange(0, np.log2(most) + 1)), *(domain * np.arange(1, _DOMAINS + 1))])
        if self.training and "layers" in self.grid.inputs:
            layers = _at(self.grid.inputs["layers"], position).max()
            stages = np.arange(1, layers + 1)
            counts = np.outer(counts, stages[layers % stages == 0]).ravel()
        return np.unique(counts[counts <= most])

    def _chosen(self, keyword: str, position: Mapping[str, int]) -> list[Any]:
        """The presets of a kind."""
        presets = self.grid.presets.get(keyword, [])
        return [presets[position[keyword]]] if keyword in position else presets[:1]

    def _along_layouts(self) -> Grid:
        """The grid of all inputs, with inputs that differ by kind along the axis of layouts."""
        grid = Grid()
        for name, i in self.grid.inputs.items():
            if not i.dims:
                grid.inputs[name] = Input(i.quantity, i.number)
                continue
            values: Any = i.values
            kind_dims = [dim for dim in self.kinds if dim in i.dims]
            other_dims = [dim for dim in i.dims if dim not in kind_dims]
            if kind_dims:
                turned = np.transpose(values, [i.dims.index(dim) for dim in (*kind_dims, *other_dims)])
                values = turned[tuple(self.places[self.kinds.index(dim)] for dim in kind_dims)]
                other_dims = [LAYOUT, *other_dims]
            self._add(grid, name, values, other_dims)
        for part, x in self.columns.items():
            self._add(grid, part, x.astype(float), [LAYOUT])
        return grid

    def _add(self, grid: Grid, name: str, values: Any, dims: Sequence[str]) -> None:
        """Join an input. Axes follow the order of the inputs."""
        for dim, size in zip(dims, np.shape(values), strict=True):
            grid.sizes.setdefault(dim, size)
            if dim in self.grid.coords and dim not in self.kinds:
                grid.coords.setdefault(dim, self.grid.coords[dim])
        grid.inputs[name] = Input(lookup(name), values, tuple(dims))

    def of(self, at: Places) -> Grid:
        """The grid of some layouts."""
        grid = self.searched
        inputs = {
            name: Input(i.quantity, np.take(i.values, at, i.dims.index(LAYOUT)), i.dims) if LAYOUT in i.dims else i
            for name, i in grid.inputs.items()
        }
        sizes = {dim: len(at) if dim == LAYOUT else n for dim, n in grid.sizes.items()}
        return Grid(inputs, sizes, grid.coords)

    def labelled(self) -> dict[str, Any]:
        """Everything as inputs of any call."""
        import xarray as xr

        result = Settled()
        for name, i in self.searched.inputs.items():
            values: Any = np.asarray(i.quantity.choices)[i.values.astype(int)] if i.quantity.choices else i.values
            if not i.dims:
                result[name] = values.item()
            elif i.dims == (name,):
                result[name] = values
            else:
                coords = {dim: self.searched.coords[dim][0] for dim in i.dims if dim in self.searched.coords}
                result[name] = xr.DataArray(values, dims=i.dims, coords=coords)
        return result

    def axes(self) -> dict[str, Any]:
        """Values on each axis. The axis of layouts has columns that distinguish them."""
        grid = self.searched
        result: dict[str, Any] = {LAYOUT: self.named(self.places) | self.columns}
        for dim, size in grid.sizes.items():
            if dim not in result:
                result[dim] = grid.coords[dim][0] if dim in grid.coords else np.arange(size)
        return result

    def settings(self) -> dict[str, tuple[Any, tuple[str, ...]]]:
        """All that is no preset's, and the presets by their names: values and their axes."""
        result: dict[str, tuple[Any, tuple[str, ...]]] = {}
        for keyword, presets in self.grid.presets.items():
            names = np.array([p.name if PRESETS[keyword].get(p.name) == p else p for p in presets], dtype=object)
            axis = next((i.dims[0] for i in self.grid.inputs.values() if i.origin == keyword and i.dims), None)
            if axis:
                result[keyword] = names[self.places[self.kinds.index(axis)]], (LAYOUT,)
            else:
                result[keyword] = np.array(names.item(), dtype=object), ()
        for name, i in self.searched.inputs.items():
            if name not in self.grid.inputs or self.grid.inputs[name].origin is None:
                words = np.asarray(i.quantity.choices)
                result[name] = (words[i.values.astype(int)] if i.quantity.choices else i.values), i.dims
        return result

    @property
    def count(self) -> int:
        """Number of layouts of all kinds."""
        return len(self.places[0]) if self.places else len(next(iter(self.columns.values()), range(1)))

    def named(self, places: Sequence[Places]) -> dict[str, Any]:
        """Return the values of the axes of kinds at some positions."""
        coords = [self.grid.coords.get(dim) for dim in self.kinds]
        return {
            dim: at if coord is None else np.asarray(coord[0])[at]
            for dim, coord, at in zip(self.kinds, coords, places, strict=True)
        }


@functools.lru_cache(maxsize=16)
def _legal_rows(
    parts: tuple[str, ...],
    candidates: tuple[tuple[str, tuple[float, ...] | None], ...],
    sizes: tuple[tuple[str, float], ...],
) -> npt.NDArray[np.int64]:
    """Return the legal layouts of a model, cached as they are equal for all calls."""
    legal = legal_layouts(dict(candidates), dict(sizes))
    return np.unique(np.stack([legal[part] for part in parts]), axis=1)


def _at(i: Input, position: Mapping[str, int]) -> npt.NDArray[np.float64]:
    """The values of an input at a kind."""
    return np.asarray(i.values[tuple(position.get(dim, slice(None)) for dim in i.dims)])


def with_recipe(inputs: dict[str, Any], outputs: Sequence[str]) -> dict[str, Any]:
    """Add the recipes of a training run to the inputs, if one is needed and none given."""
    if _UNSAID in inputs or _UNSAID not in reachable(outputs, ()):
        return inputs
    if _UNSAID not in reachable(outputs, read_grid(inputs).inputs):  # something given cuts the path
        return inputs
    recipe = {name: x for name, x in RECIPE.items() if name not in inputs}
    schedules = inputs.get("pipeline_schedule", "interleaved")
    if "interleaved" not in ([schedules] if isinstance(schedules, str) else list(schedules)):
        recipe.pop("model_chunks", None)
    return changed(inputs, recipe, exempt=True)


def octaves() -> npt.NDArray[np.float64]:
    """Whole numbers that grow evenly."""
    return np.unique(np.round(2.0 ** np.linspace(0, _MOST_OCTAVES, _OCTAVE * _MOST_OCTAVES + 1)))


def reachable(outputs: Iterable[str], given: Iterable[str]) -> Mapping[str, None]:
    """Return the ancestors of outputs in the order of their discovery, given ones as leaves."""
    return _reached_in(current(), tuple(outputs), frozenset(given).difference(DIMENSIONS))


@kept_by_registry
def _reached_in(registry: Registry, outputs: tuple[str, ...], cut: frozenset[str]) -> Mapping[str, None]:
    reached: dict[str, None] = {}
    waiting = list(outputs)
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached[name] = None
        if name not in cut:
            q = registry.entries[name]
            waiting += [*q.needs, *([q.fallback] if q.fallback else [])]
            if q.replaced_by and not cut.isdisjoint(q.replaced_where):
                waiting.append(q.replaced_by)
    return MappingProxyType(reached)
