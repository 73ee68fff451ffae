# Written by python -m roofslate._generate.
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np
import numpy.typing as npt

RESERVED_WORDS: frozenset[str]
SCOPE: ContextVar[Any]

class InverseDistribution:
    def __init__(
        self,
        first: npt.ArrayLike,
        ends: npt.ArrayLike,
        pieces: npt.ArrayLike,
        low: float,
        high: float,
    ) -> None: ...

class Registry:
    def __init__(
        self,
        base: object,
        definitions: Sequence[tuple[str, str, str, str, str, Sequence[tuple[Any, ...]]]],
    ) -> None: ...

class Sampler:
    def __init__(
        self,
        directions: npt.ArrayLike,
        shifts: Sequence[int],
        inverses: Sequence[InverseDistribution],
        normal: InverseDistribution,
        correlation: Sequence[Sequence[float]],
    ) -> None: ...

def apply_formula(
    quantity: str,
    needs: Sequence[float],
    symbols: Sequence[str],
    latex: bool,
) -> tuple[str, list[Any], list[str]]: ...
def available_memory() -> int: ...
def best(
    objective: Sequence[tuple[Any, ...]],
    maximize: bool,
    conditions: Sequence[tuple[Sequence[tuple[Any, ...]], str, Sequence[tuple[Any, ...]]]],
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def bounds(
    value: Sequence[tuple[Any, ...]],
    shape: Sequence[int],
    inputs: Sequence[tuple[str, npt.ArrayLike, Sequence[int]]],
) -> tuple[Any, ...]: ...
def call_routine(name: str, arguments: Sequence[float]) -> float: ...
def chain(quantity: str, inputs: Mapping[str, float]) -> list[Any]: ...
def clear_pool() -> None: ...
def count(
    conditions: Sequence[tuple[Sequence[tuple[Any, ...]], str, Sequence[tuple[Any, ...]]]],
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def count_outside(values: npt.ArrayLike, low: float, high: float, above_low: bool) -> int: ...
def current_registry() -> Any: ...
def derivatives(
    formula: Sequence[tuple[Any, ...]],
    to: Sequence[str],
    relative: bool,
    above: bool,
    out: object,
    call: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], int, object],
) -> tuple[Any, ...]: ...
def describe(registry: Registry, first: int) -> list[Any]: ...
def draw(sampler: Sampler, n: int, threads: int, progress: object) -> list[Any]: ...
def evaluate(
    quantities: Sequence[str],
    shape: Sequence[int],
    inputs: Sequence[tuple[str, npt.ArrayLike, Sequence[int]]],
    out: list[Any],
    threads: int,
    progress: object,
    storage: str = "float64",
) -> list[Any]: ...
def evaluate_table(
    quantities: Sequence[str],
    rows: int,
    inputs: Sequence[tuple[str, npt.ArrayLike, Sequence[int]]],
    threads: int,
    progress: object,
    columns: Sequence[str],
) -> tuple[Any, ...]: ...
def exchange_registry(expected: object, wanted: object) -> bool: ...
def fill_seconds(data: npt.NDArray[np.float64], threads: int, stream: bool) -> float: ...
def finite_extent(
    value: Sequence[tuple[Any, ...]],
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def formula_text(steps: Sequence[tuple[Any, ...]]) -> str: ...
def histogram(
    value: Sequence[tuple[Any, ...]],
    edges: Sequence[float],
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def instruction_set() -> str: ...
def instruction_sets() -> list[str]: ...
def mutated(base: Registry, quantity: str, steps: Sequence[tuple[Any, ...]], facts: dict[str, Any]) -> Registry: ...
def number(quantity: str, inputs: dict[str, Any]) -> float: ...
def numbers_taken(
    formula: Sequence[tuple[Any, ...]],
    shape: Sequence[int],
    inputs: Sequence[tuple[str, npt.ArrayLike, Sequence[int]]],
) -> list[str]: ...
def pareto(
    objectives: Sequence[Sequence[tuple[Any, ...]]],
    maximize: Sequence[bool],
    conditions: Sequence[tuple[Sequence[tuple[Any, ...]], str, Sequence[tuple[Any, ...]]]],
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> npt.NDArray[Any]: ...
def pool_bytes() -> int: ...
def quantiles(
    value: Sequence[tuple[Any, ...]],
    q: Sequence[float],
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def repeat_engine(
    quantity: str,
    shape: Sequence[int],
    inputs: Sequence[tuple[str, npt.ArrayLike, Sequence[int]]],
    out: npt.NDArray[np.float64],
    calls: int,
) -> None: ...
def sampled_count(
    conditions: Sequence[tuple[Sequence[tuple[Any, ...]], str, Sequence[tuple[Any, ...]]]],
    sampler: Sampler,
    drawn: Sequence[str],
    axis: int,
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def sampled_finite_extent(
    value: Sequence[tuple[Any, ...]],
    sampler: Sampler,
    drawn: Sequence[str],
    axis: int,
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def sampled_histogram(
    value: Sequence[tuple[Any, ...]],
    edges: Sequence[float],
    sampler: Sampler,
    drawn: Sequence[str],
    axis: int,
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def sampled_quantiles(
    value: Sequence[tuple[Any, ...]],
    q: Sequence[float],
    sampler: Sampler,
    drawn: Sequence[str],
    axis: int,
    fold: tuple[Sequence[int], Sequence[tuple[str, npt.ArrayLike, Sequence[int]]], Sequence[int], int, object, bool],
) -> tuple[Any, ...]: ...
def solve(
    unknown: str,
    condition: tuple[Sequence[tuple[Any, ...]], str, Sequence[tuple[Any, ...]]],
    at: str,
    shape: Sequence[int],
    inputs: Sequence[tuple[str, npt.ArrayLike, Sequence[int]]],
    threads: int,
    progress: object,
) -> tuple[Any, ...]: ...
def steps(quantity: str) -> list[tuple[Any, ...]]: ...
def use_instruction_set(name: str) -> None: ...
def used(quantities: Sequence[str], numbers: Mapping[str, float], arrays: Sequence[str]) -> list[str]: ...
def value(quantity: str, inputs: dict[str, Any]) -> Any: ...
