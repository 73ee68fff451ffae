# Written by python -m roofslate._generate.
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, overload

import pandas as pd
import xarray as xr
from typing_extensions import Unpack

from roofslate import charts, ciphers, errors, math, scaling, schedules, typing
from roofslate.calibrations import Bands, Calibration, calibration
from roofslate.cards import flashcards
from roofslate.catalogs import Preset, api_prices, hardware, load_presets, loss_laws, models, prices, storage
from roofslate.checklist import answers
from roofslate.comparison import Comparison
from roofslate.definition import define, definitions
from roofslate.deployments import Deployments
from roofslate.engine import ProgressWish
from roofslate.errors import RoofslateError, RoofslateWarning
from roofslate.evaluation import clear_pool, to_units
from roofslate.explanation import Explanation
from roofslate.exploring import Explorer
from roofslate.inference import Inference
from roofslate.model import Model
from roofslate.plotting import plot
from roofslate.question import Names
from roofslate.register import claims, inconsistencies
from roofslate.registry import Quantity, quantities, quantity
from roofslate.report import lecture
from roofslate.typing import AnyName, AnyNames, ChoiceName, Inputs, Keywords
from roofslate.uncertainty import Tornado, VarianceShares
from roofslate.units import Axis, geomspace, linspace
from roofslate.validating import Validation
from roofslate.versions import show_versions

__all__ = [
    "Bands",
    "Calibration",
    "Comparison",
    "Deployments",
    "Explanation",
    "Explorer",
    "Inference",
    "Model",
    "Preset",
    "Quantity",
    "RoofslateError",
    "RoofslateWarning",
    "Tornado",
    "Validation",
    "VarianceShares",
    "answers",
    "api_prices",
    "best",
    "bounds",
    "calibrate",
    "calibration",
    "charts",
    "ciphers",
    "claims",
    "clear_pool",
    "compare",
    "count",
    "crossovers",
    "define",
    "definitions",
    "deploy",
    "errors",
    "evaluate",
    "explain",
    "explore",
    "flashcards",
    "frame",
    "geomspace",
    "gradient",
    "hardware",
    "histogram",
    "inconsistencies",
    "infer",
    "lecture",
    "linspace",
    "load_presets",
    "loss_laws",
    "math",
    "models",
    "pareto",
    "plot",
    "prices",
    "quantiles",
    "quantities",
    "quantity",
    "sample",
    "scaling",
    "schedules",
    "sensitivity",
    "show_versions",
    "sobol",
    "solve",
    "storage",
    "sweep",
    "to_units",
    "tornado",
    "typing",
    "validate",
    "value",
]

__version__: str

@overload
def best(
    objective: AnyName,
    /,
    *,
    over: Names,
    where: Names = (),
    maximize: bool = False,
    also: Names = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Unpack[Keywords],
) -> xr.Dataset: ...
@overload
def best(
    objective: AnyName,
    /,
    *,
    over: Names,
    where: Names = (),
    maximize: bool = False,
    also: Names = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> xr.Dataset: ...
@overload
def bounds(output: AnyName, /, *, units: str | None = None, **inputs: Unpack[Keywords]) -> tuple[float, float]: ...
@overload
def bounds(output: AnyName, /, *, units: str | None = None, **inputs: Any) -> tuple[float, float]: ...
@overload
def calibrate(
    table: pd.DataFrame,
    /,
    terms: Mapping[str, tuple[Any, Any]] | Sequence[str],
    *,
    measured: str,
    output: str | None = None,
    hold_out: str | Sequence[str] | Sequence[str | Sequence[str]] = (),
    start: Mapping[str, Any] | None = None,
    by: Mapping[str, str] | None = None,
    residual: Literal["logarithm", "relative"] = "logarithm",
    soft: float = 0.3,
    anchor: str | None = None,
    stack: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    ignore: Iterable[str] = (),
    **inputs: Unpack[Keywords],
) -> Calibration: ...
@overload
def calibrate(
    table: pd.DataFrame,
    /,
    terms: Mapping[str, tuple[Any, Any]] | Sequence[str],
    *,
    measured: str,
    output: str | None = None,
    hold_out: str | Sequence[str] | Sequence[str | Sequence[str]] = (),
    start: Mapping[str, Any] | None = None,
    by: Mapping[str, str] | None = None,
    residual: Literal["logarithm", "relative"] = "logarithm",
    soft: float = 0.3,
    anchor: str | None = None,
    stack: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    ignore: Iterable[str] = (),
    **inputs: Any,
) -> Calibration: ...
@overload
def compare(
    a: Inputs | Mapping[str, Any],
    b: Inputs | Mapping[str, Any],
    output: AnyName,
    /,
    **shared: Unpack[Keywords],
) -> Comparison: ...
@overload
def compare(
    a: Inputs | Mapping[str, Any],
    b: Inputs | Mapping[str, Any],
    output: AnyName,
    /,
    **shared: Any,
) -> Comparison: ...
@overload
def count(
    where: Names,
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Unpack[Keywords],
) -> int | xr.DataArray: ...
@overload
def count(
    where: Names,
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> int | xr.DataArray: ...
@overload
def crossovers(**inputs: Unpack[Keywords]) -> pd.DataFrame: ...
@overload
def crossovers(**inputs: Any) -> pd.DataFrame: ...
@overload
def deploy(
    *,
    objective: AnyName,
    where: str | Sequence[str] = (),
    maximize: bool = False,
    also: AnyNames = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Unpack[Keywords],
) -> Deployments: ...
@overload
def deploy(
    *,
    objective: AnyName,
    where: str | Sequence[str] = (),
    maximize: bool = False,
    also: AnyNames = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> Deployments: ...
@overload
def evaluate(
    outputs: AnyName,
    /,
    *,
    out: Any = None,
    dtype: Any = "float64",
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    bands: None = None,
    **inputs: Unpack[Keywords],
) -> xr.DataArray: ...
@overload
def evaluate(
    outputs: AnyName,
    /,
    *,
    out: Any = None,
    dtype: Any = "float64",
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    bands: None = None,
    **inputs: Any,
) -> xr.DataArray: ...
@overload
def evaluate(
    outputs: AnyNames,
    /,
    *,
    out: Any = None,
    dtype: Any = "float64",
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Unpack[Keywords],
) -> xr.Dataset: ...
@overload
def evaluate(
    outputs: AnyNames,
    /,
    *,
    out: Any = None,
    dtype: Any = "float64",
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Any,
) -> xr.Dataset: ...
@overload
def explain(
    output: AnyName,
    /,
    *,
    depth: int | None = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Unpack[Keywords],
) -> Explanation: ...
@overload
def explain(
    output: AnyName,
    /,
    *,
    depth: int | None = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Any,
) -> Explanation: ...
@overload
def explore(what: charts.Chart | str | Sequence[str], /, **inputs: Unpack[Keywords]) -> Explorer: ...
@overload
def explore(what: charts.Chart | str | Sequence[str], /, **inputs: Any) -> Explorer: ...
@overload
def frame(
    table: pd.DataFrame,
    outputs: AnyNames,
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Unpack[Keywords],
) -> pd.DataFrame: ...
@overload
def frame(
    table: pd.DataFrame,
    outputs: AnyNames,
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Any,
) -> pd.DataFrame: ...
@overload
def gradient(
    output: AnyName,
    /,
    *,
    to: AnyNames | None = None,
    side: Literal["above", "below"] = "above",
    out: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Unpack[Keywords],
) -> pd.Series | xr.DataArray: ...
@overload
def gradient(
    output: AnyName,
    /,
    *,
    to: AnyNames | None = None,
    side: Literal["above", "below"] = "above",
    out: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> pd.Series | xr.DataArray: ...
@overload
def histogram(
    output: AnyName,
    /,
    *,
    bins: int | Sequence[Any] | Axis = 50,
    range: tuple[Any, Any] | None = None,
    log: bool = False,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Unpack[Keywords],
) -> xr.Dataset: ...
@overload
def histogram(
    output: AnyName,
    /,
    *,
    bins: int | Sequence[Any] | Axis = 50,
    range: tuple[Any, Any] | None = None,
    log: bool = False,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> xr.Dataset: ...
@overload
def infer(
    prices: Any,
    /,
    *,
    rounding: float = ...,
    tiers: Iterable[str | Preset] | str | None = None,
    **inputs: Unpack[Keywords],
) -> Inference: ...
@overload
def infer(
    prices: Any,
    /,
    *,
    rounding: float = ...,
    tiers: Iterable[str | Preset] | str | None = None,
    **inputs: Any,
) -> Inference: ...
@overload
def pareto(
    *,
    minimize: Names = (),
    maximize: Names = (),
    where: Names = (),
    also: Names = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Unpack[Keywords],
) -> pd.DataFrame: ...
@overload
def pareto(
    *,
    minimize: Names = (),
    maximize: Names = (),
    where: Names = (),
    also: Names = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> pd.DataFrame: ...
@overload
def quantiles(
    output: AnyName,
    q: float | Sequence[float],
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    units: str | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Unpack[Keywords],
) -> float | xr.DataArray: ...
@overload
def quantiles(
    output: AnyName,
    q: float | Sequence[float],
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    units: str | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> float | xr.DataArray: ...
@overload
def sample(
    outputs: AnyName,
    n: int,
    /,
    *,
    seed: int,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    **inputs: Unpack[Keywords],
) -> xr.DataArray: ...
@overload
def sample(
    outputs: AnyName,
    n: int,
    /,
    *,
    seed: int,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    **inputs: Any,
) -> xr.DataArray: ...
@overload
def sample(
    outputs: AnyNames,
    n: int,
    /,
    *,
    seed: int,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    **inputs: Unpack[Keywords],
) -> xr.Dataset: ...
@overload
def sample(
    outputs: AnyNames,
    n: int,
    /,
    *,
    seed: int,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    **inputs: Any,
) -> xr.Dataset: ...
@overload
def sensitivity(
    output: AnyName,
    /,
    *,
    to: AnyNames | None = None,
    side: Literal["above", "below"] = "above",
    out: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Unpack[Keywords],
) -> pd.Series | xr.DataArray: ...
@overload
def sensitivity(
    output: AnyName,
    /,
    *,
    to: AnyNames | None = None,
    side: Literal["above", "below"] = "above",
    out: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> pd.Series | xr.DataArray: ...
@overload
def sobol(
    output: AnyName,
    /,
    n: int,
    seed: int,
    *,
    threads: int | None = None,
    **inputs: Unpack[Keywords],
) -> VarianceShares: ...
@overload
def sobol(output: AnyName, /, n: int, seed: int, *, threads: int | None = None, **inputs: Any) -> VarianceShares: ...
@overload
def solve(
    unknown: AnyName,
    condition: str,
    /,
    *,
    at: Literal["smallest", "largest", "all"] = "smallest",
    units: str | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Unpack[Keywords],
) -> xr.DataArray: ...
@overload
def solve(
    unknown: AnyName,
    condition: str,
    /,
    *,
    at: Literal["smallest", "largest", "all"] = "smallest",
    units: str | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> xr.DataArray: ...
@overload
def sweep(
    source: str | os.PathLike[str],
    outputs: AnyNames,
    target: str | os.PathLike[str],
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], object] | None = None,
    **inputs: Unpack[Keywords],
) -> int: ...
@overload
def sweep(
    source: str | os.PathLike[str],
    outputs: AnyNames,
    target: str | os.PathLike[str],
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], object] | None = None,
    **inputs: Any,
) -> int: ...
@overload
def tornado(
    output: AnyName,
    /,
    *,
    base: Inputs | Mapping[str, Any] | None = None,
    **inputs: Unpack[Keywords],
) -> Tornado: ...
@overload
def tornado(output: AnyName, /, *, base: Inputs | Mapping[str, Any] | None = None, **inputs: Any) -> Tornado: ...
def validate(
    table: pd.DataFrame | None = None,
    /,
    *,
    models: Mapping[str, Any] | None = None,
    hardware: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    bands: float = 0.8,
    ignore: Iterable[str] = (),
    **inputs: Any,
) -> Validation: ...
@overload
def value(output: ChoiceName, /, *, units: str | None = None, **inputs: Unpack[Keywords]) -> str: ...
@overload
def value(output: ChoiceName, /, *, units: str | None = None, **inputs: Any) -> str: ...
@overload
def value(output: AnyName, /, *, units: str | None = None, **inputs: Unpack[Keywords]) -> float: ...
@overload
def value(output: AnyName, /, *, units: str | None = None, **inputs: Any) -> float: ...
