"""Constants that were fitted to measured runs: their values, how well they predict, and the band of a prediction."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import units
from roofslate.errors import (
    InputTypeError,
    MissingInput,
    ValueRangeError,
    shown,
    unknown,
)
from roofslate.frameworks import framework_name
from roofslate.inputs import PRESETS
from roofslate.registry import lookup
from roofslate.typesetting import columns, html_table

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ERRORS",
    "KNOWN",
    "PERCENTILES",
    "Bands",
    "Calibration",
    "Constant",
    "Fit",
    "calibration",
    "check_level",
    "error_measures",
]

Values = npt.NDArray[np.float64]

PERCENTILES = np.linspace(0.0, 1.0, 81)  # at which the spread of residuals is kept
ERRORS = ("rows", "mape", "median", "rms_log", "bias", "within_2x", "coverage")
KNOWN = "measured"  # the spread of rows whose kinds were all measured, each in other combinations


def error_measures(
    predicted: Values, measured: Values, inside: npt.NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """How far predictions are from what was measured.

    Parameters
    ----------
    predicted, measured : numpy.ndarray
    inside : numpy.ndarray of bool, optional
        Which measured values lie within their bands.

    Returns
    -------
    dict
        `rows`; mean (`mape`) and median (`median`) of abs(predicted / measured - 1); of the logarithm of that ratio the
        root of the mean square (`rms_log`) and, as a factor less 1, the mean (`bias`); the share of rows within a
        factor of 2 (`within_2x`) and within their bands (`coverage`). NaN where nothing is told.
    """
    log = np.log(predicted / measured)
    if not len(log):
        return {"rows": 0.0, **dict.fromkeys(ERRORS[1:], math.nan)}
    relative = np.abs(predicted / measured - 1)
    return {
        "rows": float(len(log)),
        "mape": float(relative.mean()),
        "median": float(np.median(relative)),
        "rms_log": float(np.sqrt(np.mean(log**2))),
        "bias": float(np.expm1(log.mean())),
        "within_2x": float(np.mean(np.abs(log) <= math.log(2))),
        "coverage": math.nan if inside is None else float(np.mean(inside)),
    }


@dataclass(frozen=True)
class Constant:
    """One fitted input.

    Attributes
    ----------
    name : str
        The input.
    value : float
        In base units.
    low, high : float
        The plausible range that it was sought in.
    deviation : float
        Standard error of its logarithm.
    output : str
        The output whose measurements fixed it.
    by : str
        Column by whose values it differs, if it does; `value` is then the geometric mean of `values`.
    values : dict of float
        By value of that column.
    """

    name: str
    value: float
    low: float
    high: float
    deviation: float
    output: str
    by: str = ""
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The value with its standard error, as a person reads it."""
        return f"{units.format(self.value, lookup(self.name).unit)} ± {100 * self.deviation:.2g} %"

    @property
    def remark(self) -> str:
        """What it differs by, and at which end of its range it lies, if it does."""
        if self.values:
            unit = lookup(self.name).unit
            return ", ".join(f"{value} {units.format(x, unit, 2)}" for value, x in self.values.items())
        for end, name in ((self.low, "low"), (self.high, "high")):
            if math.isclose(self.value, end, rel_tol=1e-4):
                return f"at the {name} end of its range"
        return ""


@dataclass(frozen=True)
class Fit:
    """How one output was fitted.

    Attributes
    ----------
    output, measured : str
        The output, and the column that it was fitted to.
    constants : tuple of str
        The inputs that were sought.
    covariance : tuple of tuple of float
        Of their logarithms.
    errors : dict of dict
        By what was left out: `ERRORS`, see `error_measures`.
    spread : dict of tuple
        Percentiles of ln(measured / predicted) of rows that were left out: ``"measured"``, where each of their kinds
        stood in other rows; by the name of a column, where that kind stood in no other row.
    kinds : dict of tuple
        By column: what was measured.
    between, within : float
        Standard deviation of that logarithm among stacks, and among the rows of a stack.
    anchor : str or None
        The input that the output is proportional to.
    """

    output: str
    measured: str
    constants: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...]
    errors: Mapping[str, Mapping[str, float]]
    spread: Mapping[str, tuple[float, ...]]
    kinds: Mapping[str, tuple[str, ...]]
    between: float
    within: float
    anchor: str | None = None

    def band(self, level: float, kinds: Mapping[str, str | None]) -> tuple[float, float]:
        """Factors from a prediction to the ends of its band; what is not told counts as never measured."""
        ends = ((1 - level) / 2, (1 + level) / 2)
        low, high = np.interp(ends, PERCENTILES, self.spread[KNOWN])
        for column, measured in self.kinds.items():
            if kinds.get(column) not in measured:
                wide = np.interp(ends, PERCENTILES, self.spread[column])
                low, high = min(low, wide[0]), max(high, wide[1])
        return math.exp(low), math.exp(high)


@dataclass(frozen=True)
class Bands:
    """The bands of a calibration at a level, for ``bands=``."""

    calibration: Calibration
    level: float

    def __post_init__(self) -> None:
        check_level(self.level)


def check_level(level: Any) -> float:
    """The level of a band, checked."""
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, (int, float, np.integer, np.floating)):
        raise InputTypeError(f"the level of a band is a number between 0 and 1, got {shown(level)}")
    if not 0 < level < 1:
        raise ValueRangeError(f"the level of a band lies between 0 and 1, got {shown(level)}")
    return float(level)


@dataclass(frozen=True, repr=False, eq=False)
class Calibration(Mapping[str, "float | str"]):
    """Fitted constants: a mapping from inputs to values, so that ``**calibration`` passes them to any call.

    The settings that they were fitted with go with them.

    ``a | b`` joins the calibrations of different outputs.

    Attributes
    ----------
    constants : tuple of Constant
    fits : dict of Fit
        By output.
    settings : dict
        Inputs that were the same in all measured rows and are part of the estimate.
    data : str
        The measurements that it was fitted to.
    date : str
        When.
    """

    constants: tuple[Constant, ...]
    fits: Mapping[str, Fit]
    settings: Mapping[str, float | str] = field(default_factory=dict)
    data: str = ""
    date: str = ""

    @functools.cached_property
    def _values(self) -> dict[str, float | str]:
        fitted = {constant.name: constant.value for constant in self.constants}
        return {**fitted, **{name: x for name, x in self.settings.items() if name not in fitted}}

    def __getitem__(self, name: str) -> float | str:
        try:
            return self._values[name]
        except KeyError:
            raise unknown("constant", name, self._values) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> KeysView[str]:  # what ** asks for: the dict's own are three times as fast
        return self._values.keys()

    def __or__(self, other: Calibration) -> Calibration:
        if not isinstance(other, Calibration):
            return NotImplemented
        for name, x in other.items():
            if name in self and self[name] != x:
                raise ValueRangeError(f"{name} is {self[name]} in one calibration and {x} in the other")
        both = sorted(set(self.fits) & set(other.fits))
        if both:
            raise ValueRangeError(f"both calibrations are of {', '.join(both)}")
        added = tuple(constant for constant in other.constants if constant.name not in self)
        settings = {**self.settings, **other.settings}
        data = "; ".join(dict.fromkeys(filter(None, (self.data, other.data))))
        return Calibration(
            (*self.constants, *added), {**self.fits, **other.fits}, settings, data, max(self.date, other.date)
        )

    @property
    def covariance(self) -> pd.DataFrame:
        """Covariance of the logarithms of the constants.

        Returns
        -------
        pandas.DataFrame
            Constants by constants; 0 between those of different outputs.
        """
        import pandas as pd

        names = list(dict.fromkeys(name for fit in self.fits.values() for name in fit.constants))
        found = pd.DataFrame(0.0, index=pd.Index(names, name="constant"), columns=names)
        for fit in self.fits.values():
            found.loc[list(fit.constants), list(fit.constants)] = np.array(fit.covariance)
        return found

    @property
    def standard_errors(self) -> pd.Series:
        """Standard errors of the constants, each in its unit.

        Returns
        -------
        pandas.Series
        """
        import pandas as pd

        errors = {constant.name: constant.value * constant.deviation for constant in self.constants}
        return pd.Series(errors, name="standard_error", dtype=float)

    @property
    def errors(self) -> pd.DataFrame:
        """How far predictions are from what was measured, in sample and left out.

        Returns
        -------
        pandas.DataFrame
            Indexed by output and what was left out; columns as `error_measures` names them. `coverage` is that of the
            80 % band, of rows left out.
        """
        import pandas as pd

        rows = {(output, out): row for output, fit in self.fits.items() for out, row in fit.errors.items()}
        index = pd.MultiIndex.from_tuples(list(rows), names=["output", "left_out"])
        found = pd.DataFrame(list(rows.values()), index=index, columns=list(ERRORS))
        return found.astype({"rows": int})

    def to_frame(self) -> pd.DataFrame:
        """Table of the constants, one row each.

        Returns
        -------
        pandas.DataFrame
            Columns value, unit, standard_error, low, high, output, meaning.
        """
        import pandas as pd

        rows = [
            {
                "value": c.value,
                "unit": lookup(c.name).unit,
                "standard_error": c.value * c.deviation,
                "low": c.low,
                "high": c.high,
                "output": c.output,
                "meaning": lookup(c.name).brief,
            }
            for c in self.constants
        ]
        return pd.DataFrame(rows, index=pd.Index([c.name for c in self.constants], name="constant"))

    def band(self, level: float = 0.8, output: str | None = None, **kinds: str | None) -> tuple[float, float]:
        """Factors from a prediction to the ends of its band.

        Parameters
        ----------
        level : float
            Share of measured values that the band should hold.
        output : str, optional
            Where the calibration has several.
        **kinds : str
            ``model="Qwen3-32B"``, ``hardware="H200"`` and what else the constants were cross-validated by. What is not
            told, or was never measured, widens the band.

        Returns
        -------
        tuple of float

        Examples
        --------
        >>> import roofslate as rs
        >>> low, high = rs.calibration("FasterTransformer").band(0.8)
        >>> low < 1 < high
        True
        """
        return self.fit(output).band(check_level(level), {k: self.kind(k, name) for k, name in kinds.items()})

    def band_of_rows(self, level: float, output: str, kinds: Mapping[str, Any]) -> tuple[Values, Values]:
        """The factors of `band` for each row, from what the rows have in each column."""
        fit = self.fit(output)
        names = [column for column in kinds if column in fit.kinds]
        rows = len(next(iter(kinds.values()), ()))
        keys = list(zip(*(kinds[column] for column in names), strict=True)) or [()] * rows
        each = {key: fit.band(level, dict(zip(names, key, strict=True))) for key in set(keys)}
        found = np.array([each[key] for key in keys]).reshape(rows, 2)
        return found[:, 0], found[:, 1]

    def of_rows(self, kinds: Mapping[str, Any]) -> dict[str, Values]:
        """The constants that differ from row to row, from what the rows have in each column."""
        return {
            c.name: np.array([c.values.get(str(name), c.value) for name in kinds[c.by]])
            for c in self.constants
            if c.by and c.by in kinds
        }

    def at(self, **kinds: str) -> Calibration:
        """The constants of one value of the columns by which they differ.

        Parameters
        ----------
        **kinds : str
            ``framework="vllm"``.

        Returns
        -------
        Calibration
        """
        columns = {c.by for c in self.constants if c.by}
        constants = []
        for name in kinds:
            if name not in columns:
                raise unknown("column by which constants differ", name, columns)
        kinds = {column: self.kind(column, name) or name for column, name in kinds.items()}
        for c in self.constants:
            if c.by in kinds:
                if kinds[c.by] not in c.values:
                    raise unknown(c.by, kinds[c.by], c.values)
                constants.append(dataclasses.replace(c, value=c.values[kinds[c.by]], by="", values={}))
            else:
                constants.append(c)
        return dataclasses.replace(self, constants=tuple(constants))

    def bands(self, level: float = 0.8) -> Bands:
        """Bands of this calibration: ``rs.evaluate(..., bands=calibration.bands(0.9), **calibration)``."""
        return Bands(self, level)

    def fit(self, output: str | None = None) -> Fit:
        """How an output was fitted; the only one where none is named."""
        if output is None and len(self.fits) == 1:
            return next(iter(self.fits.values()))
        if output is None:
            raise MissingInput(f"which output? This calibration is of {', '.join(self.fits)}")
        if output not in self.fits:
            raise unknown("calibrated output", output, self.fits)
        return self.fits[output]

    def kind(self, column: str, name: str | None) -> str | None:
        """The name under which a kind was measured: that of its preset, if it has one, or the framework's own."""
        if column == "framework" and name is not None:
            return framework_name(name)
        if column not in PRESETS or name is None or name not in PRESETS[column]:
            return name
        return PRESETS[column][name].name

    def compare(self, other: Calibration) -> pd.DataFrame:
        """The constants beside those of another calibration.

        Parameters
        ----------
        other : Calibration

        Returns
        -------
        pandas.DataFrame
            Indexed by constant; columns `this`, `other`, `ratio` (of the other to this one) and `deviations`: the
            logarithm of the ratio in standard errors of both. NaN where one of them does not have it.
        """
        import pandas as pd

        if not isinstance(other, Calibration):
            raise InputTypeError(f"compare takes another calibration, got {shown(other)}")
        mine, theirs = ({c.name: c for c in each.constants} for each in (self, other))
        names = list(dict.fromkeys([*mine, *theirs]))
        a, b = (np.array([of[n].value if n in of else math.nan for n in names]) for of in (mine, theirs))
        variance = [sum(of[n].deviation ** 2 for of in (mine, theirs) if n in of) for n in names]
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = {"this": a, "other": b, "ratio": b / a, "deviations": np.log(b / a) / np.sqrt(variance)}
        return pd.DataFrame(columns, index=pd.Index(names, name="constant"))

    def anchored(self, rows: pd.DataFrame, *, ignore: Sequence[str] = (), **inputs: Any) -> Calibration:
        """Shift the estimate by one or a few measured rows of a stack of your own.

        Each output whose measured column the rows have gets a factor, shrunk towards 1 the less the rows tell: its
        logarithm is that of the mean ratio of measured to predicted, times v / (v + u / n) with n rows, the variance v
        among stacks and u within a stack, both of the fit.

        Parameters
        ----------
        rows : pandas.DataFrame
            Columns as for `calibrate`, or those of `validate`.
        ignore : sequence of str
            Columns that are no inputs.
        **inputs
            Inputs that are the same for all rows.

        Returns
        -------
        Calibration
            With the factors among its constants and narrower bands, for this stack alone.
        """
        from roofslate.calibrating import anchored

        return anchored(self, rows, ignore, inputs)

    def __str__(self) -> str:
        lines = [f"Calibration of {', '.join(self.fits)}", *([f"  {self.data}"] if self.data else [])]
        rows = [(c.name, c.text, c.remark or lookup(c.name).brief) for c in self.constants]
        lines += columns(rows)
        lines += [f"  {name} = {x!r}" for name, x in self.settings.items()]
        for output, fit in self.fits.items():
            lines.append(f"  {output}: mean / median error")
            lines += [f"    {out:<22}  {_errors_text(row)}" for out, row in fit.errors.items()]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        constants = [(c.name, c.text, lookup(c.name).brief, c.remark) for c in self.constants]
        errors = [(o, out, _errors_text(row)) for o, fit in self.fits.items() for out, row in fit.errors.items()]
        return html_table(self.data or "constants", ("constant", "value", "meaning", ""), constants) + html_table(
            "errors", ("output", "left out", "mean / median"), errors
        )

    # ------------------------------------------------------------------------------------------------------- files

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write constants, covariances, errors and bands to a TOML file.

        Parameters
        ----------
        path : path-like
        """
        from roofslate.calibration_files import written
        from roofslate.files import write

        write(path, written(self))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read what `to_toml` wrote.

        Parameters
        ----------
        path : path-like

        Returns
        -------
        Calibration

        Raises
        ------
        PresetError
            Where something in the file is not as it should be; the message names the file, the line and the key.
        """
        from roofslate.calibration_files import read

        return read(Path(path))


def _errors_text(row: Mapping[str, float]) -> str:
    held = row["coverage"]
    inside = "" if math.isnan(held) else f", the 80 % band holds {100 * held:.0f} %"
    return f"{100 * row['mape']:.1f} % / {100 * row['median']:.1f} % of {row['rows']:,.0f} rows{inside}"


@functools.cache
def calibration(name: str = "serving") -> Calibration:
    """A calibration that comes with the package.

    Parameters
    ----------
    name : str
        ``"serving"``, of the deployments that `validate` scores; ``"FasterTransformer"`` and ``"TensorRT-LLM"``, of
        one published table each.

    Returns
    -------
    Calibration
        Read when it is first asked for.

    Raises
    ------
    UnknownName

    Examples
    --------
    >>> import roofslate as rs
    >>> 0 < rs.calibration()["bandwidth_efficiency"] < 1
    True
    """
    known = {path.stem: path for path in sorted((Path(__file__).with_name("data") / "calibrations").glob("*.toml"))}
    if name not in known:
        raise unknown("calibration", name, known)
    return Calibration.from_toml(known[name])
