"""The decode surface in idiomatic NumPy, numexpr, numba and JAX, slow factors hoisted.

The caller supplies memory.

Rivals with tables and compressed arrays are in `table_rivals`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks import table_rivals

__all__ = ["COST", "FOUR", "RIVALS", "Surface"]

Values = npt.NDArray[np.float64]
Results = Mapping[str, Values]
Rival = Callable[["Surface", Sequence[str], Results, int], Callable[[], Results]]

FOUR = ("pass_time", "cost_per_token", "compute_utilization", "memory_time")
COST = ("cost_per_token",)


@dataclass(frozen=True)
class Surface:
    """A grid of models, chips, batches and contexts.

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
        models, chips, batches, contexts = (np.arange(n, dtype=float) for n in self.shape)
        return {
            "total_parameters": (0, 400e9 + 100e9 * models),
            "active_parameters": (0, 20e9 + 9e9 * models),
            "kv_bytes_per_token": (0, 20e3 + 15e3 * models),
            "peak_flops": (1, 1e15 + 0.5e15 * chips),
            "hbm_bandwidth": (1, 3e12 + 0.7e12 * chips),
            "chip_price": (1, (2.0 + 0.4 * chips) / 3600),
            "batch_size": (2, 1 + 16 * batches),
            "context_length": (3, 100 + 200 * contexts),
        }

    @property
    def inputs(self) -> dict[str, Any]:
        """Return the inputs of `rs.evaluate`."""
        import xarray as xr

        dims = ("model_number", "chip_number", "batch_size", "context_length")
        arrays = {name: xr.DataArray(values, dims=dims[axis]) for name, (axis, values) in self.axes.items()}
        return {**arrays, "chips": self.chips, "bytes_per_weight": self.bytes_per_weight}

    @property
    def core_inputs(self) -> list[tuple[str, Values, list[int]]]:
        """Return the inputs of the compiled engine."""
        constants = {"chips": self.chips, "bytes_per_weight": self.bytes_per_weight}
        arrays = [(name, values, [axis]) for name, (axis, values) in self.axes.items()]
        return arrays + [(name, np.array(x), []) for name, x in constants.items()]

    @property
    def plain(self) -> dict[str, Values]:
        """Return the values without positions."""
        return {name: values for name, (_, values) in self.axes.items()}

    @property
    def factors(self) -> dict[str, Values]:
        """Return slowly varying factors in broadcastable shapes: compute, weights, token, price."""
        x = {
            name: values.reshape([-1 if d == axis else 1 for d in range(4)])
            for name, (axis, values) in self.axes.items()
        }
        bandwidth, flops = self.chips * x["hbm_bandwidth"], self.chips * x["peak_flops"]
        return {
            "t_c": x["batch_size"] * (2 * x["active_parameters"] / flops),
            "t_w": x["total_parameters"] * self.bytes_per_weight / bandwidth,
            "k": x["batch_size"] * x["kv_bytes_per_token"] / bandwidth,
            "p": self.chips * x["chip_price"] / x["batch_size"],
            "L": x["context_length"],
        }


def _numpy(surface: Surface, outputs: Sequence[str], _: Results, __: int) -> Callable[[], Results]:
    def run() -> Results:
        f = surface.factors
        memory_time = f["t_w"] + f["k"] * f["L"]
        pass_time = np.maximum(f["t_c"], memory_time)
        cost = pass_time * f["p"]
        if len(outputs) == 1:
            return {"cost_per_token": cost}
        return dict(zip(FOUR, (pass_time, cost, f["t_c"] / pass_time, memory_time), strict=True))

    return run


def _numpy_out(surface: Surface, outputs: Sequence[str], out: Results, __: int) -> Callable[[], Results]:
    def run() -> Results:
        f = surface.factors
        memory_time = out.get("memory_time", out["cost_per_token"])
        pass_time = out.get("pass_time", memory_time)
        np.multiply(f["k"], f["L"], out=memory_time)
        np.add(memory_time, f["t_w"], out=memory_time)
        np.maximum(memory_time, f["t_c"], out=pass_time)
        np.multiply(pass_time, f["p"], out=out["cost_per_token"])
        if len(outputs) > 1:
            np.divide(f["t_c"], pass_time, out=out["compute_utilization"])
        return out

    return run


def _numexpr(surface: Surface, outputs: Sequence[str], out: Results, threads: int) -> Callable[[], Results]:
    numexpr: Any = importlib.import_module("numexpr")
    numexpr.set_num_threads(threads)

    def run() -> Results:
        f: dict[str, Any] = surface.factors
        if len(outputs) == 1:
            text = "where(t_c > t_w + k * L, t_c, t_w + k * L) * p"
            numexpr.evaluate(text, f, out=out["cost_per_token"])
            return out
        t_m, t = out["memory_time"], out["pass_time"]
        numexpr.evaluate("t_w + k * L", f, out=t_m)
        numexpr.evaluate("where(t_c > t_m, t_c, t_m)", f | {"t_m": t_m}, out=t)
        numexpr.evaluate("t * p", f | {"t": t}, out=out["cost_per_token"])
        numexpr.evaluate("t_c / t", f | {"t": t}, out=out["compute_utilization"])
        return out

    return run


def _numba(surface: Surface, outputs: Sequence[str], out: Results, threads: int) -> Callable[[], Results]:
    numba: Any = importlib.import_module("numba")
    numba.set_num_threads(min(threads, numba.get_num_threads()))
    compiled = numba.njit(parallel=True, fastmath=False, error_model="numpy")
    rows = numba.prange
    chips, bytes_per_weight = surface.chips, surface.bytes_per_weight

    def four(
        N_t: Any,
        N_a: Any,
        q: Any,
        F: Any,
        m: Any,
        p: Any,
        B: Any,
        L: Any,
        times: Any,
        costs: Any,
        shares: Any,
        memory: Any,
    ) -> None:
        for r in rows(len(N_t) * len(m) * len(B)):
            i, j, b = r // (len(m) * len(B)), r // len(B) % len(m), r % len(B)
            bandwidth = chips * m[j]
            t_c = B[b] * (2 * N_a[i] / (chips * F[j]))
            t_w = N_t[i] * bytes_per_weight / bandwidth
            k = B[b] * q[i] / bandwidth
            price = chips * p[j] / B[b]
            for c in range(len(L)):
                t_m = t_w + k * L[c]
                t = max(t_c, t_m)
                memory[i, j, b, c] = t_m
                times[i, j, b, c] = t
                costs[i, j, b, c] = t * price
                shares[i, j, b, c] = t_c / t

    def cost(N_t: Any, N_a: Any, q: Any, F: Any, m: Any, p: Any, B: Any, L: Any, costs: Any) -> None:
        for r in rows(len(N_t) * len(m) * len(B)):
            i, j, b = r // (len(m) * len(B)), r // len(B) % len(m), r % len(B)
            bandwidth = chips * m[j]
            t_c = B[b] * (2 * N_a[i] / (chips * F[j]))
            t_w = N_t[i] * bytes_per_weight / bandwidth
            k = B[b] * q[i] / bandwidth
            price = chips * p[j] / B[b]
            for c in range(len(L)):
                costs[i, j, b, c] = max(t_c, t_w + k * L[c]) * price

    loop = compiled(cost if len(outputs) == 1 else four)
    arguments = [*surface.plain.values(), *(out[name] for name in outputs)]

    def run() -> Results:
        loop(*arguments)
        return out

    return run


def _jax(surface: Surface, outputs: Sequence[str], _: Results, __: int) -> Callable[[], Results]:
    jax: Any = importlib.import_module("jax")
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def surfaces(t_c: Any, t_w: Any, k: Any, p: Any, L: Any) -> Any:
        memory_time = t_w + k * L
        pass_time = jnp.maximum(t_c, memory_time)
        cost = pass_time * p
        return (cost,) if len(outputs) == 1 else (pass_time, cost, t_c / pass_time, memory_time)

    compiled = jax.jit(surfaces)

    def run() -> Results:
        arrays = jax.block_until_ready(compiled(*surface.factors.values()))
        return dict(zip(outputs, arrays, strict=True))

    return run


RIVALS: dict[str, Rival] = {
    "NumPy": _numpy,
    "NumPy, out=": _numpy_out,
    "numexpr, out=": _numexpr,
    "numba, fused": _numba,
    "JAX jit": _jax,
    "polars": table_rivals.polars,
    "DuckDB": table_rivals.duckdb,
    "Blosc2": table_rivals.blosc2,
}
