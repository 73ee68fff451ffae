"""The search for the best batch in idiomatic numba, NumPy and JAX."""

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

LIMIT = 0.05  # per pass [s]


@dataclass(frozen=True)
class Search:
    """Axes of models, chips, batches and contexts, with a search for the batch.

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
        """Return each varying input: the position of its axis, and its values."""
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
        """Return the inputs of `rs.best`."""
        import xarray as xr

        dims = ("model_number", "chip_number", "batch_size", "context_length")
        arrays = {name: xr.DataArray(values, dims=dims[axis]) for name, (axis, values) in self.axes.items()}
        return {**arrays, "chips": self.chips, "bytes_per_weight": self.bytes_per_weight}

    @property
    def plain(self) -> list[Values]:
        """Return the values without positions."""
        return [values for _, values in self.axes.values()]

    @property
    def factors(self) -> list[Values]:
        """Return slowly varying factors, in broadcastable shapes.

        In order: compute, weight read, read of a token, price of a pass, weights and a token's KV cache per chip, HBM
        capacity of a chip, contexts.
        """
        N_t, N_a, q, F, m, hbm_capacity, p, B, L = (
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
            hbm_capacity,
            L,
        ]


def _numba(search: Search, threads: int, *, hoisted: bool) -> Callable[[], Found]:
    numba: Any = importlib.import_module("numba")
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    parallel = numba.prange
    chips, bytes_per_weight, limit = search.chips, search.bytes_per_weight, LIMIT
    inf, full = np.inf, np.full

    # The innermost loop runs along a remaining axis: without a reduction the compiler vectorizes it.
    def factors_hoisted(N_t: Any, N_a: Any, q: Any, F: Any, m: Any, hbm_capacity: Any, p: Any, B: Any, L: Any) -> Any:
        least = full((len(N_t), len(m), len(L)), inf)
        positions = full((len(N_t), len(m), len(L)), -1)
        for r in parallel(len(N_t) * len(m)):
            i, j = r // len(m), r % len(m)
            costs, places = least[i, j], positions[i, j]
            bandwidth = chips * m[j]
            weights, weight_room = N_t[i] * bytes_per_weight / bandwidth, N_t[i] * bytes_per_weight / chips
            for b in range(len(B)):
                t_c = B[b] * (2 * N_a[i] / (chips * F[j]))
                fetch, kv_bytes = B[b] * (q[i] / bandwidth), B[b] * (q[i] / chips)
                price = chips * p[j] / B[b]
                for c in range(len(L)):
                    t = max(t_c, weights + L[c] * fetch)
                    cost = t * price
                    if t <= limit and weight_room + L[c] * kv_bytes <= hbm_capacity[j] and cost < costs[c]:
                        costs[c] = cost
                        places[c] = b
        return least, positions

    def formulas(N_t: Any, N_a: Any, q: Any, F: Any, m: Any, hbm_capacity: Any, p: Any, B: Any, L: Any) -> Any:
        least = full((len(N_t), len(m), len(L)), inf)
        positions = full((len(N_t), len(m), len(L)), -1)
        for r in parallel(len(N_t) * len(m)):
            i, j = r // len(m), r % len(m)
            costs, places = least[i, j], positions[i, j]
            bandwidth = chips * m[j]
            for b in range(len(B)):
                for c in range(len(L)):
                    t_c = 2 * N_a[i] * B[b] / (chips * F[j])
                    t = max(t_c, (N_t[i] * bytes_per_weight + B[b] * L[c] * q[i]) / bandwidth)
                    used = (N_t[i] * bytes_per_weight + B[b] * L[c] * q[i]) / chips
                    cost = t * (chips * p[j] / B[b])
                    if t <= limit and used <= hbm_capacity[j] and cost < costs[c]:
                        costs[c] = cost
                        places[c] = b
        return least, positions

    compiled = numba.njit(parallel=True, fastmath=False, error_model="numpy")
    loop = compiled(factors_hoisted if hoisted else formulas)
    arguments = search.plain
    return lambda: loop(*arguments)


def _array_search(
    np_: Any, t_c: Any, t_w: Any, k: Any, p: Any, w: Any, kv_bytes: Any, hbm_capacity: Any, L: Any
) -> Any:
    """Return positions and values along the batch axis, with arrays of NumPy or JAX."""
    t = np_.maximum(t_c, t_w + k * L)
    feasible = (t <= LIMIT) & (w + kv_bytes * L <= hbm_capacity)
    cost = np_.where(feasible, t * p, np_.inf)
    positions = np_.argmin(cost, axis=2)
    least = np_.take_along_axis(cost, positions[:, :, None], axis=2)[:, :, 0]
    return least, np_.where(np_.isinf(least), -1, positions)


def _numpy(search: Search, _: int) -> Callable[[], Found]:
    return lambda: _array_search(np, *search.factors)


def _numpy_in_place(search: Search, _: int) -> Callable[[], Found]:
    """Put batches last, for the fastest minimum, and use few temporary arrays."""

    def run() -> Found:
        t_c, t_w, k, p, w, kv_bytes, hbm_capacity, L = (np.swapaxes(x, 2, 3) for x in search.factors)
        t = k * L
        t += t_w
        np.maximum(t, t_c, out=t)
        outside = t > LIMIT
        outside |= w + kv_bytes * L > hbm_capacity
        t *= p
        t[outside] = np.inf
        positions = t.argmin(axis=3)
        least = np.take_along_axis(t, positions[..., None], axis=3)[..., 0]
        return least, np.where(np.isinf(least), -1, positions)

    return run


def _jax(search: Search, _: int) -> Callable[[], Found]:
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    compiled = jax.jit(lambda *factors: _array_search(jax.numpy, *factors))

    def run() -> Found:
        least, positions = jax.block_until_ready(compiled(*search.factors))
        return np.asarray(least), np.asarray(positions)

    return run


# By name: the rival, and whether it stores full grids.
SEARCH_RIVALS: dict[str, tuple[Callable[[Search, int], Callable[[], Found]], bool]] = {
    "numba, slow factors hoisted": (lambda search, threads: _numba(search, threads, hoisted=True), False),
    "numba, formulas as written": (lambda search, threads: _numba(search, threads, hoisted=False), False),
    "NumPy": (_numpy, True),
    "NumPy, batches last, in place": (_numpy_in_place, True),
    "JAX jit": (_jax, True),
}


def grid_loop(threads: int) -> Callable[..., float]:
    """Compile a numba loop that finds the least cost by batch, context, chips and machine."""
    numba: Any = importlib.import_module("numba")
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    parallel, limit = numba.prange, LIMIT
    full, inf = np.full, np.inf

    def search(
        N_t: float,
        N_a: float,
        q: float,
        w: float,
        p: float,
        hbm_capacity: float,
        B: Any,
        L: Any,
        n: Any,
        m: Any,
        F: Any,
    ) -> Any:
        least = full(len(B), inf)
        for b in parallel(len(B)):
            costs = full(len(F), inf)
            for c in range(len(L)):
                bytes_ = N_t * w + B[b] * L[c] * q
                for k in range(len(n)):
                    if bytes_ / n[k] > hbm_capacity:
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
        hbm_capacity: float,
        axes: dict[str, Values],
    ) -> float:
        batches, contexts, chips, bandwidths, flops = axes.values()
        return float(
            loop(
                total_parameters, active_parameters, kv_bytes_per_token, bytes_per_weight, chip_price, hbm_capacity,
                batches, contexts, chips, bandwidths, 1 / flops,
            )
        )  # fmt: skip

    return run
