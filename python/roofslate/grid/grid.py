"""Inputs of a call on named axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate._base.messages import is_text
from roofslate.errors import AxisError
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import current
from roofslate.registry.reserved import RESERVED_WORDS
from roofslate.registry.values import Values, encoded_numbers
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from roofslate._core import Grid as CoreGrid
    from roofslate._core import Supply
    from roofslate.presets.preset import Preset
    from roofslate.registry.registry import Quantity, Registry

__all__ = ["Grid", "Input"]


Positions = npt.NDArray[np.integer[Any]]


class Input:
    """One quantity for the engine: a number or values along named axes, in base units.

    Parameters
    ----------
    quantity : Quantity
    values : float or numpy.ndarray
        One number where there are no dims.
    dims : tuple of str
    origin : str, optional
        The keyword of the preset that supplies it.
    """

    __slots__ = ("_values", "dims", "number", "origin", "quantity")

    def __init__(
        self, quantity: Quantity, values: float | Values, dims: tuple[str, ...] = (), origin: str | None = None
    ) -> None:
        self.quantity, self.dims, self.origin = quantity, dims, origin
        self.number = 0.0 if dims else float(values)
        self._values: Any = values if dims else None

    @property
    def values(self) -> Values:
        """Return the values as an array, without axes for one number."""
        if self._values is None:
            self._values = np.array(self.number)
        return self._values  # type: ignore[no-any-return]

    @values.setter
    def values(self, values: Values) -> None:
        self._values = values


@dataclass
class Chunked:
    """A dask array and the encoding of its numbers, with a placeholder in `Grid.inputs`."""

    quantity: Quantity
    data: Any
    attrs: dict[str, Any]

    def at(self, index: tuple[Any, ...] | None = None) -> Values:
        """Its numbers at some places, or all of them, loaded."""
        chosen = self.data if index is None else self.data.vindex[index]
        return encoded_numbers(chosen.compute(), self.attrs, self.quantity)


@dataclass
class Grid:
    """All inputs of a call, and the axes that they make, in the order in which they came."""

    inputs: dict[str, Input] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    coords: dict[str, Any] = field(default_factory=dict)  # by axis: array, or (array, name of its quantity)
    presets: dict[str, list[Preset]] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)  # quantity: why the presets of a list do not supply it
    chunked: dict[str, Chunked] = field(default_factory=dict)
    preset_axes: dict[str, str] = field(default_factory=dict)  # along which the presets of a kind vary, if they do
    registry: Registry = field(default_factory=current)
    variables: tuple[str, ...] = ()  # inputs that results will be differentiated by
    members: frozenset[str] = frozenset()  # inputs that come from a scenario given by position
    exempt: frozenset[str] = frozenset()  # inputs that a call adds itself: they may be without effect
    explicit: AbstractSet[str] | None = None  # inputs that no preset supplies, once counted
    quiet: bool = False  # the call checked its inputs before
    unused: tuple[str, ...] = ()  # members that no output takes
    layout: str = ""  # chosen by a rule, in words
    dequantized: str = ""  # formats that chips do not multiply, in words
    _core: _core.Grid | None = None

    def add_axis(self, dim: str, size: int, coord: Any, owner: str) -> None:
        """Join an axis. An existing one must have the same length and coordinate."""
        if size == 0:
            raise AxisError(f"{owner}: the axis {dim!r} is empty")
        if dim in RESERVED_WORDS and dim not in PRESETS and dim != DAY:
            raise AxisError(f"{owner}: {dim!r} is a word that calls use as an argument; give the axis another name")
        if not is_text(dim):
            raise AxisError(f"{owner}: {dim!a} cannot name an axis: it has half a surrogate pair")
        known = self.sizes.setdefault(dim, size)
        if known != size:
            raise AxisError(f"{owner}: the axis {dim!r} has {size} values here and {known} in another input")
        if coord is None:
            return
        if (word := _broken_text(coord[0])) is not None:
            raise AxisError(f"{owner}: {word!a}, a coordinate of the axis {dim!r}, has half a surrogate pair")
        before = self.coords.setdefault(dim, coord)
        if before is coord:
            return
        if not same_values(before[0], coord[0]):
            raise AxisError(f"{owner}: the axis {dim!r} has other coordinates here than in another input")
        if before[1] is None:
            self.coords[dim] = before[0], coord[1]

    @property
    def core(self) -> CoreGrid:
        """Build the grid in the compiled engine: one graph for all calls. Inputs are now fixed."""
        if self._core is None:
            at = {dim: k for k, dim in enumerate(self.sizes)}
            inputs: dict[str, Any] = {
                name: (i.values, [at[dim] for dim in i.dims]) if i.dims else i.number for name, i in self.inputs.items()
            }
            self.build(inputs)
        return self._core  # type: ignore[return-value]

    def build(self, inputs: dict[str, Any], supply: Supply | None = None) -> None:
        """Build the engine's grid of inputs, which take precedence on a supply.

        An input is a number, or an array and the positions of its axes.
        """
        self._core = _core.Grid(list(self.sizes.values()), inputs, list(self.variables), supply)

    def __getstate__(self) -> dict[str, Any]:
        return {name: x for name, x in vars(self).items() if name not in ("registry", "_core")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, registry=current(), _core=None)

    def release(self) -> None:
        """Let go of the engine's grid, since inputs have changed."""
        self._core = None

    def numbers(self) -> dict[str, float]:
        """Inputs that are one number."""
        return {name: i.number for name, i in self.inputs.items() if not i.dims}

    def numbers_at(self, position: Mapping[str, int]) -> dict[str, float]:
        """All inputs at one point, by its position along each axis. Chunks have none."""
        return {
            name: float(i.values[tuple(position[dim] for dim in i.dims)]) if i.dims else i.number
            for name, i in self.inputs.items()
        }


def _broken_text(values: Any) -> str | None:
    """First text of a coordinate that nothing could write."""
    if getattr(values, "dtype", np.dtype(object)).kind in "biufcmM":
        return None
    words = np.asarray(values, dtype=object).ravel().tolist()
    return next((word for word in words if isinstance(word, str) and not is_text(word)), None)


def same_values(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


def spread(values: Any, axes: Sequence[str], dims: Sequence[str]) -> Any:
    """Expand values to one axis for each of `dims`, of length one without variation."""
    common = [dim for dim in dims if dim in axes]
    turned = np.transpose(values, [axes.index(dim) for dim in common])
    return turned[tuple(slice(None) if dim in common else np.newaxis for dim in dims)]
