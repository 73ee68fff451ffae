"""The decode surface in idiomatic polars, DuckDB and Blosc2, slow factors hoisted."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.rivals import Results, Surface

__all__ = ["blosc2", "duckdb", "polars"]

_SQL = {
    "memory_time": "t_w + k * L",
    "pass_time": "greatest(t_c, t_w + k * L)",
    "cost_per_token": "greatest(t_c, t_w + k * L) * p",
    "compute_utilization": "t_c / greatest(t_c, t_w + k * L)",
}


def _slow_columns(surface: Surface) -> dict[str, Any]:
    """Return the factors of each model, chip and batch."""
    shape = (*surface.shape[:3], 1)
    return {
        name: np.ascontiguousarray(np.broadcast_to(values, shape)).reshape(-1)
        for name, values in surface.factors.items()
        if name != "L"
    }


def _in_shape(surface: Surface, columns: Mapping[str, Any]) -> Results:
    return {name: np.asarray(column).reshape(surface.shape) for name, column in columns.items()}


def polars(surface: Surface, outputs: Sequence[str], _: Results, threads: int) -> Callable[[], Results]:
    """Join contexts to every row of factors, and compute columns of expressions."""
    import os

    os.environ.setdefault("POLARS_MAX_THREADS", str(threads))  # read by its import
    pl: Any = importlib.import_module("polars")

    def run() -> Results:
        rows = pl.LazyFrame(_slow_columns(surface)).join(
            pl.LazyFrame({"L": surface.plain["context_length"]}), how="cross", maintain_order="left_right"
        )
        t_m = pl.col("t_w") + pl.col("k") * pl.col("L")
        t = pl.max_horizontal(pl.col("t_c"), t_m)
        columns = {
            "memory_time": t_m,
            "pass_time": t,
            "cost_per_token": t * pl.col("p"),
            "compute_utilization": pl.col("t_c") / t,
        }
        table = rows.select(columns[name].alias(name) for name in outputs).collect()
        return _in_shape(surface, {name: table[name].to_numpy() for name in outputs})

    return run


def duckdb(surface: Surface, outputs: Sequence[str], _: Results, threads: int) -> Callable[[], Results]:
    """Query expressions. Factors and contexts are joined first, as a join keeps no order."""
    module: Any = importlib.import_module("duckdb")
    connection = module.connect(config={"threads": threads})
    contexts = surface.plain["context_length"]
    columns = {name: np.repeat(values, contexts.size) for name, values in _slow_columns(surface).items()}
    columns["L"] = np.tile(contexts, surface.shape[0] * surface.shape[1] * surface.shape[2])
    connection.register("joined", columns)
    connection.execute("create table points as select * from joined")
    connection.unregister("joined")
    query = f"select {', '.join(f'{_SQL[name]} as {name}' for name in outputs)} from points"
    return lambda: _in_shape(surface, connection.execute(query).fetchnumpy())


def blosc2(surface: Surface, outputs: Sequence[str], _: Results, threads: int) -> Callable[[], Results]:
    """Compute lazy expressions block by block, without compression."""
    module: Any = importlib.import_module("blosc2")
    module.set_nthreads(threads)
    texts = {
        "memory_time": "t_w + k * L",
        "pass_time": "maximum(t_c, t_w + k * L)",
        "cost_per_token": "maximum(t_c, t_w + k * L) * p",
        "compute_utilization": "t_c / maximum(t_c, t_w + k * L)",
    }

    def run() -> Results:
        factors = surface.factors
        return {name: module.lazyexpr(texts[name], factors).compute(cparams={"clevel": 0})[:] for name in outputs}

    return run
