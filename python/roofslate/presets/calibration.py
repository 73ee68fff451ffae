"""Fitted constants with their errors and bands, as calls read them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate._base.locks import cached_property
from roofslate._base.messages import shown, unknown
from roofslate.display.html import columns
from roofslate.display.result import Result, Table
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError
from roofslate.presets.catalog import hardware, measured_as, models
from roofslate.presets.fits import ERRORS, Constant, Fit, Values, check_level, errors_text
from roofslate.presets.frameworks import framework_name
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

__all__ = ["Bands", "FittedConstants"]

_CATALOGS = {"model": models, "hardware": hardware}  # columns whose values may be aliases


@dataclass(frozen=True, repr=False, eq=False)
class FittedConstants(Result, Mapping[str, "float | str"]):
    """Constants, errors and bands of a `Calibration` without its measured rows."""

    constants: tuple[Constant, ...]
    fits: Mapping[str, Fit]
    settings: Mapping[str, float | str] = field(default_factory=dict)
    data: str = ""
    date: str = ""
    name: str = ""

    @cached_property
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

    def keys(self) -> KeysView[str]:  # called by **, and the dict's are three times as fast
        return self._values.keys()

    def __or__(self, other: FittedConstants) -> Self:
        if not isinstance(other, FittedConstants):
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
        return type(self)(
            (*self.constants, *added),
            {**self.fits, **other.fits},
            settings,
            data,
            max(self.date, other.date),
            " | ".join(filter(None, (self.name, other.name))),
        )

    @property
    def covariance(self) -> pd.DataFrame:
        """Covariance of the logarithms of the constants.

        Returns
        -------
        pandas.DataFrame
            Constants by constants, with 0 between constants of different outputs.
        """
        import pandas as pd

        names = list(dict.fromkeys(name for fit in self.fits.values() for name in fit.constants))
        table = pd.DataFrame(0.0, index=pd.Index(names, name="constant"), columns=names)
        for fit in self.fits.values():
            table.loc[list(fit.constants), list(fit.constants)] = np.array(fit.covariance)
        return table

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
        """Compare predictions with measurements, in sample and out of sample.

        Returns
        -------
        pandas.DataFrame
            Indexed by output and omitted kind, columns as `error_measures` names them. `coverage` is the share in the
            80% band, out of sample.
        """
        import pandas as pd

        rows = {(output, out): row for output, fit in self.fits.items() for out, row in fit.errors.items()}
        index = pd.MultiIndex.from_tuples(list(rows), names=["output", "left_out"])
        table = pd.DataFrame(list(rows.values()), index=index, columns=list(ERRORS))
        return table.astype({"rows": int})

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
            Share of measured values inside the band.
        output : str, optional
            Required if the calibration has several.
        **kinds : str
            ``model="Qwen3-32B"``, ``hardware="H200"`` and other kinds of the cross-validation. A kind that is missing
            or was never measured widens the band.

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
        """The factors of `band` for each row, from the rows' values in each column."""
        fit = self.fit(output)
        names = [column for column in kinds if column in fit.kinds]
        rows = len(next(iter(kinds.values()), ()))
        keys = list(zip(*(kinds[column] for column in names), strict=True)) or [()] * rows
        each = {key: fit.band(level, dict(zip(names, key, strict=True))) for key in set(keys)}
        factors = np.array([each[key] for key in keys]).reshape(rows, 2)
        return factors[:, 0], factors[:, 1]

    def support(self, output: str | None = None, **kinds: str | None) -> str:
        """Name the support of a prediction, by its model, chip and framework.

        Parameters
        ----------
        output : str, optional
            If the calibration has several.
        **kinds : str
            ``model="Qwen3-32B"``, ``hardware="H200"`` and other columns of the cross-validation.

        Returns
        -------
        str
            ``"measured"``: rows of these kinds were fitted. ``"interpolated"``: each was measured, in other
            combinations. ``"extrapolated: hardware=MI300X"``: the named kind was never measured.

        Examples
        --------
        >>> import roofslate as rs
        >>> cal = rs.calibration()
        >>> cal.support("time_per_output_token", model="Qwen3-32B", hardware="H100")
        'measured'
        >>> cal.support("time_per_output_token", model="Qwen3-32B", hardware="MI300X")
        'extrapolated: hardware=MI300X'
        """
        return self.fit(output).support({k: self.kind(k, name) for k, name in kinds.items()})

    def support_of_rows(self, output: str, kinds: Mapping[str, Any]) -> tuple[npt.NDArray[np.int64], list[str]]:
        """The words of `support` for each row: their positions, and the distinct words."""
        fit = self.fit(output)
        names = [column for column in kinds if column in fit.kinds]
        rows = len(next(iter(kinds.values()), ()))
        keys = list(zip(*(kinds[column] for column in names), strict=True)) or [()] * rows
        each = {
            key: fit.support({column: self.kind(column, x) for column, x in zip(names, key, strict=True)})
            for key in dict.fromkeys(keys)
        }
        places = {word: k for k, word in enumerate(dict.fromkeys(each.values()))}
        codes = {key: places[word] for key, word in each.items()}
        return np.array([codes[key] for key in keys], dtype=np.int64), list(places)

    def of_rows(self, kinds: Mapping[str, Any]) -> dict[str, Values]:
        """The constants that differ from row to row, from the rows' values in each column."""
        return {
            c.name: np.array([c.values.get(str(name), c.value) for name in kinds[c.by]])
            for c in self.constants
            if c.by and c.by in kinds
        }

    def at(self, **kinds: str) -> Self:
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
        """Return bands: ``rs.evaluate(..., bands=calibration.bands(0.9), **calibration)``."""
        return Bands(self, level)

    def fit(self, output: str | None = None) -> Fit:
        """Return the fit of an output, by default of the only one."""
        if output is None and len(self.fits) == 1:
            return next(iter(self.fits.values()))
        if output is None:
            raise MissingInput(f"which output? This calibration is of {', '.join(self.fits)}")
        if output not in self.fits:
            raise unknown("calibrated output", output, self.fits)
        return self.fits[output]

    def kind(self, column: str, name: str | None) -> str | None:
        """Return the measured name of a kind: of its preset, a system's chip, or the framework."""
        if column == "framework" and name is not None:
            return framework_name(name)
        if column not in _CATALOGS or name is None or name not in _CATALOGS[column]:
            return name
        return measured_as(_CATALOGS[column][name])

    def compare(self, other: FittedConstants) -> pd.DataFrame:
        """Combine the constants with another calibration's.

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

        if not isinstance(other, FittedConstants):
            raise InputTypeError(f"compare takes another calibration, got {shown(other)}")
        mine, theirs = ({c.name: c for c in each.constants} for each in (self, other))
        names = list(dict.fromkeys([*mine, *theirs]))
        a, b = (np.array([of[n].value if n in of else math.nan for n in names]) for of in (mine, theirs))
        variance = [sum(of[n].deviation ** 2 for of in (mine, theirs) if n in of) for n in names]
        with np.errstate(divide="ignore", invalid="ignore"):
            columns = {"this": a, "other": b, "ratio": b / a, "deviations": np.log(b / a) / np.sqrt(variance)}
        return pd.DataFrame(columns, index=pd.Index(names, name="constant"))

    def __str__(self) -> str:
        lines = [f"Calibration of {', '.join(self.fits)}", *([f"  {self.data}"] if self.data else [])]
        rows = [(c.name, c.text, c.remark or lookup(c.name).brief) for c in self.constants]
        lines += columns(rows)
        lines += [f"  {name} = {x!r}" for name, x in self.settings.items()]
        for output, fit in self.fits.items():
            lines.append(f"  {output}: mean / median error")
            lines += [f"    {out:<22}  {errors_text(row)}" for out, row in fit.errors.items()]
        return "\n".join(lines)

    def _tables(self) -> list[Table]:
        constants = [(c.name, c.text, lookup(c.name).brief, c.remark) for c in self.constants]
        errors = [(o, out, errors_text(row)) for o, fit in self.fits.items() for out, row in fit.errors.items()]
        return [
            (self.data or "constants", ("constant", "value", "meaning", ""), constants),
            ("errors", ("output", "left out", "mean / median"), errors),
        ]


@dataclass(frozen=True)
class Bands:
    """The bands of a calibration at a level, for ``bands=``."""

    calibration: FittedConstants
    level: float

    def __post_init__(self) -> None:
        check_level(self.level)
