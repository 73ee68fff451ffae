"""The search for the best batch as good users of numba, NumPy and JAX write it."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LIMIT", "SEARCH_RIVALS", "Search", "grid_loop"]

Values = npt.NDArray[np.float64]
Found = tuple[Values, npt.NDArray[np.int64]]

LIMIT = 0.05  # of a pass [s]


@dataclass(frozen=True)
class Search:
    """Models, chips, batches and contexts, of which the batches are searched.

    Attributes
    ----------
    shape : tuple of int
        Models, chips, batches, contexts.
    """

    shape: tuple[int, int, int, int]
    chips: float = 72.0
    bytes_per_weight: float = 1.0

    @property
    def axes(self) -> dict[str, tuple[int, Values]]:
        """Each input that varies: the position of its axis, and its values."""
        models, chips, batches, contexts = self.shape
        return {
            "total_parameters": (0, np.geomspace(7e9, 1e12, models)),
            "active_parameters": (0, np.geomspace(7e9, 4e10, models)),
            "kv_bytes_per_token": (0, np.geomspace(2e5, 3e4, models)),
            "peak_flops": (1, np.geomspace(1e15, 9e15, chips)),
            "hbm_bandwidth": (1, np.geomspace(3e12, 2e13, chips)),
            "hbm_capacity": (1, np.geomspace(8e10, 2.8e11, chips)),
            "chip_price": (1, np.geomspace(5e-4, 2e-3, chips)),
            "batch_size": (2, np.geomspace(1, 8192, batches)),
            "context_length": (3, np.geomspace(128, 1e6, contexts)),
        }

    @property
    def inputs(self) -> dict[str, Any]:
        """For `rs.best`."""
        import xarray as xr

        dims = ("model_number", "chip_number", "batch_size", "context_length")
        arrays = {name: xr.DataArray(values, dims=dims[axis]) for name, (axis, values) in self.axes.items()}
        return {**arrays, "chips": self.chips, "bytes_per_weight": self.bytes_per_weight}

    @property
    def plain(self) -> list[Values]:
        """The values alone."""
        return [values for _, values in self.axes.values()]

    @property
    def factors(self) -> list[Values]:
        """What varies slowly, in shapes that broadcast.

        In turn: compute, weight fetch, fetch of a token, price of a pass; weights and a token's KV on a chip, room of
        a chip; contexts.
        """
        N_t, N_a, q, F, m, room, p, B, L = (
            values.reshape([-1 if d == axis else 1 for d in range(4)]) for axis, values in self.axes.values()
        )
        bandwidth = self.chips * m
        return [
            B * (2 * N_a / (self.chips * F)),
            N_t * self.bytes_per_weight / bandwidth,
            B * (q / bandwidth),
            self.chips * p / B,
            N_t * self.bytes_per_weight / self.chips,
            B * (q / self.chips),
            room,
            L,
        ]


def _numba(search: Search, threads: int, *, hoisted: bool) -> Callable[[], Found]:
    numba: Any = importlib.import_module("numba")
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    parallel = numba.prange
    chips, bytes_per_weight, limit = search.chips, search.bytes_per_weight, LIMIT
    inf, full = np.inf, np.full

    # The innermost loop runs along an axis that is kept: without a reduction in it the compiler makes vectors of it.
    def factors_hoisted(N_t: Any, N_a: Any, q: Any, F: Any, m: Any, room: Any, p: Any, B: Any, L: Any) -> Any:
        least = full((len(N_t), len(m), len(L)), inf)
        place = full((len(N_t), len(m), len(L)), -1)
        for r in parallel(len(N_t) * len(m)):
            i, j = r // len(m), r % len(m)
            costs, places = least[i, j], place[i, j]
            bandwidth = chips * m[j]
            weights, weight_room = N_t[i] * bytes_per_weight / bandwidth, N_t[i] * bytes_per_weight / chips
            for b in range(len(B)):
                t_c = B[b] * (2 * N_a[i] / (chips * F[j]))
                fetch, kept = B[b] * (q[i] / bandwidth), B[b] * (q[i] / chips)
                price = chips * p[j] / B[b]
                for c in range(len(L)):
                    t = max(t_c, weights + L[c] * fetch)
                    cost = t * price
                    if t <= limit and weight_room + L[c] * kept <= room[j] and cost < costs[c]:
                        costs[c] = cost
                        places[c] = b
        return least, place

    def formulas(N_t: Any, N_a: Any, q: Any, F: Any, m: Any, room: Any, p: Any, B: Any, L: Any) -> Any:
        least = full((len(N_t), len(m), len(L)), inf)
        place = full((len(N_t), len(m), len(L)), -1)
        for r in parallel(len(N_t) * len(m)):
            i, j = r // len(m), r % len(m)
            costs, places = least[i, j], place[i, j]
            bandwidth = chips * m[j]
            for b in range(len(B)):
                for c in range(len(L)):
                    t_c = 2 * N_a[i] * B[b] / (chips * F[j])
                    t = max(t_c, (N_t[i] * bytes_per_weight + B[b] * L[c] * q[i]) / bandwidth)
                    used = (N_t[i] * bytes_per_weight + B[b] * L[c] * q[i]) / chips
                    cost = t * (chips * p[j] / B[b])
                    if t <= limit and used <= room[j] and cost < costs[c]:
                        costs[c] = cost
                        places[c] = b
        return least, place

    compiled = numba.njit(parallel=True, fastmath=False, error_model="numpy")
    loop = compiled(factors_hoisted if hoisted else formulas)
    arguments = search.plain
    return lambda: loop(*arguments)


def _array_search(np_: Any, t_c: Any, t_w: Any, k: Any, p: Any, w: Any, kept: Any, room: Any, L: Any) -> Any:
    """Places and values along the axis of batches, with the arrays of NumPy or JAX."""
    t = np_.maximum(t_c, t_w + k * L)
    feasible = (t <= LIMIT) & (w + kept * L <= room)
    cost = np_.where(feasible, t * p, np_.inf)
    place = np_.argmin(cost, axis=2)
    least = np_.take_along_axis(cost, place[:, :, None], axis=2)[:, :, 0]
    return least, np_.where(np_.isinf(least), -1, place)


def _numpy(search: Search, _: int) -> Callable[[], Found]:
    return lambda: _array_search(np, *search.factors)


def _numpy_in_place(search: Search, _: int) -> Callable[[], Found]:
    """The batches last, where a minimum is found fastest, and few temporary arrays."""

    def run() -> Found:
        t_c, t_w, k, p, w, kept, room, L = (np.swapaxes(x, 2, 3) for x in search.factors)
        t = k * L
        t += t_w
        np.maximum(t, t_c, out=t)
        outside = t > LIMIT
        outside |= w + kept * L > room
        t *= p
        t[outside] = np.inf
        place = t.argmin(axis=3)
        least = np.take_along_axis(t, place[..., None], axis=3)[..., 0]
        return least, np.where(np.isinf(least), -1, place)

    return run


def _jax(search: Search, _: int) -> Callable[[], Found]:
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(lambda *factors: _array_search(jax.numpy, *factors))

    def run() -> Found:
        least, place = jax.block_until_ready(compiled(*search.factors))
        return np.asarray(least), np.asarray(place)

    return run


# Each with whether it keeps whole grids in memory.
SEARCH_RIVALS: dict[str, tuple[Callable[[Search, int], Callable[[], Found]], bool]] = {
    "numba, slow factors hoisted": (lambda search, threads: _numba(search, threads, hoisted=True), False),
    "numba, formulas as they stand": (lambda search, threads: _numba(search, threads, hoisted=False), False),
    "NumPy": (_numpy, True),
    "NumPy, batches last, in place": (_numpy_in_place, True),
    "JAX jit": (_jax, True),
}


def grid_loop(threads: int) -> Callable[..., float]:
    """Give a numba loop that finds the least cost over batches, contexts, chips, bandwidths and FLOP rates."""
    numba: Any = importlib.import_module("numba")
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    parallel, limit = numba.prange, LIMIT
    full, inf = np.full, np.inf

    def search(
        N_t: float, N_a: float, q: float, w: float, p: float, room: float, B: Any, L: Any, n: Any, m: Any, F: Any
    ) -> Any:
        least = full(len(B), inf)
        for b in parallel(len(B)):
            costs = full(len(F), inf)
            for c in range(len(L)):
                bytes_ = N_t * w + B[b] * L[c] * q
                for k in range(len(n)):
                    if bytes_ / n[k] > room:
                        continue
                    price = n[k] * p / B[b]
                    work = 2 * N_a * B[b] / n[k]
                    for j in range(len(m)):
                        t_m = bytes_ / (n[k] * m[j])
                        for f in range(len(F)):
                            t = max(work * F[f], t_m)
                            cost = t * price
                            if t <= limit and cost < costs[f]:
                                costs[f] = cost
            least[b] = costs.min()
        return least.min()

    loop = numba.njit(parallel=True, fastmath=False, error_model="numpy")(search)

    def run(
        total_parameters: float,
        active_parameters: float,
        kv_bytes_per_token: float,
        bytes_per_weight: float,
        chip_price: float,
        room: float,
        axes: dict[str, Values],
    ) -> float:
        batches, contexts, chips, bandwidths, flops = axes.values()
        return float(
            loop(
                total_parameters, active_parameters, kv_bytes_per_token, bytes_per_weight, chip_price, room,
                batches, contexts, chips, bandwidths, 1 / flops,
            )
        )  # fmt: skip

    return run
