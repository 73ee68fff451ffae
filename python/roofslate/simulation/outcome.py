"""The result of a simulated service: requests, means and percentiles with standard errors."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core, units
from roofslate._base.locks import cached_property
from roofslate._base.messages import shown, unknown
from roofslate.display.html import columns
from roofslate.display.result import Result
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.units.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import pandas as pd

    from roofslate.display.result import Table

__all__ = ["STATUS", "Simulation", "check_percentiles"]

STATUS = ("answered", "refused", "timed_out", "too_long")
_LATENCIES = ("time_to_first_token", "time_per_output_token", "request_latency", "queue")
_GAPS = "inter_token_latency"
_BATCHES = 16  # minimum number of batches for standard errors
_TEXTS = {"mean": "mean", "error": "±"}


def check_percentiles(given: Any) -> tuple[float, ...]:
    """Check percentiles, as fractions between 0 and 1."""
    listed = [given] if is_number(given) else given
    try:
        listed = list(listed)
    except TypeError:
        raise InputTypeError(f"percentiles: expected fractions such as (0.5, 0.99), got {shown(given)}") from None
    for q in listed:
        if not is_number(q) or not 0 < q < 1:
            raise ValueRangeError(f"percentiles must be between 0 and 1, such as 0.99 for p99, got {shown(q)}")
    return tuple(sorted(float(q) for q in listed))


@dataclass(frozen=True, repr=False)
class Simulation(Result):
    """Simulated requests to a service.

    `str()` and Jupyter show the table of `summary`.

    Attributes
    ----------
    requests : pandas.DataFrame
        A row per measured request, sorted by arrival within each replication: ``arrival`` (s), ``queue`` (s until its
        prefill starts), ``time_to_first_token`` (s), ``time_per_output_token`` (s, mean after the first token, NaN for
        one token), ``request_latency`` (s), ``input_tokens``, ``output_tokens``, ``hit_tokens`` (of the prompt, read
        from a prefix cache), ``preemptions``, ``replica``, ``status`` (answered, refused, timed_out, too_long),
        ``waited`` (for a batch slot, beyond the current step) and ``replication``.
    seed : int
        Of the random numbers.
    load : float
        Utilization of a replica at its limit of sequences, NaN for a trace.
    percentiles : tuple of float
        Percentiles of `summary`.
    totals : dict of str to array
        By replication: ``arrived``, ``answered`` and ``lost`` requests from the first to the last event,
        ``time_in_system`` (their number integrated over time), ``sojourn`` (the sum of their times), ``steps``.
    """

    requests: pd.DataFrame
    seed: int
    load: float
    percentiles: tuple[float, ...]
    totals: Mapping[str, npt.NDArray[np.float64]]
    _gaps: Sequence[npt.NDArray[np.int64]]  # histograms of gaps between tokens

    @cached_property
    def _batches(self) -> list[slice]:
        """Rows of the batches whose means are compared, as equal parts of each replication."""
        replications = self.requests["replication"].to_numpy()
        count = int(replications[-1]) + 1
        parts = math.ceil(_BATCHES / count)
        slices = []
        for k in range(count):
            first, last = np.searchsorted(replications, [k, k + 1])
            edges = np.linspace(first, last, min(parts, int(last - first)) + 1).astype(int)
            slices += [slice(a, b) for a, b in itertools.pairwise(edges)]
        return slices

    def percentile(self, name: str, q: float) -> tuple[float, float]:
        """Return a percentile of a latency, and its standard error.

        Parameters
        ----------
        name : str
            ``"time_to_first_token"``, ``"time_per_output_token"``, ``"request_latency"``, ``"queue"`` or
            ``"inter_token_latency"``.
        q : float
            As a fraction: 0.99 for p99.

        Returns
        -------
        value, error : float
            In seconds. The error is computed from means of batches of requests. NaN if there is one batch.

        Raises
        ------
        ValueRangeError, UnknownName
        """
        shares = check_percentiles(q)
        if len(shares) != 1:
            raise ValueRangeError(f"q: expected one fraction, such as 0.99 for p99, got {shown(q)}")
        if name not in (*_LATENCIES, _GAPS):
            raise unknown("latency", name, (*_LATENCIES, _GAPS))
        (estimate,) = self._percentiles(name, shares)
        return estimate

    def _percentiles(self, name: str, shares: tuple[float, ...]) -> list[tuple[float, float]]:
        """Compute percentiles of a latency with their errors, from one scan of the requests."""
        if name == _GAPS:
            estimates = _quantiles_of_bins(np.sum(self._gaps, axis=0), shares)
            parts = [_quantiles_of_bins(each, shares) for each in self._gaps]
        else:
            values = self.requests[name].to_numpy()
            estimates = _quantiles(values, shares)
            parts = [_quantiles(values[rows], shares) for rows in self._batches]
        return [(float(x), _error([part[k] for part in parts])) for k, x in enumerate(estimates)]

    def mean(self, name: str) -> tuple[float, float]:
        """Return the mean of a latency, a count or a fraction, and its standard error.

        Parameters
        ----------
        name : str
            As for `percentile`, a numeric column of `requests`, or ``"running_sequences"`` (decoding, in the entire
            service), ``"throughput"`` (answered requests, 1/s), ``"refused_share"`` (refused, timed out or too long),
            ``"waiting_share"`` (no free batch slot), ``"hit_rate"`` (fraction of prompt tokens in a prefix cache).

        Returns
        -------
        value, error : float

        Raises
        ------
        UnknownName
        """
        totals = self.totals
        ratios = {
            "running_sequences": ("running", "window"),
            _GAPS: ("gap_time", "gaps"),
            "time_per_decoded_token": ("running", "tokens"),
        }
        if name in ratios:
            top, bottom = (totals[part] for part in ratios[name])
            return _ratio(top.sum(), bottom.sum()), _error([_ratio(a, b) for a, b in zip(top, bottom, strict=True)])
        values, weights = self._counted(name)
        ratio = _ratio(np.nansum(values), weights.sum())
        return ratio, _error([_ratio(np.nansum(values[rows]), weights[rows].sum()) for rows in self._batches])

    def _counted(self, name: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return values by row, and the weights that their sum is divided by."""
        requests = self.requests
        ones = np.ones(len(requests))
        values: npt.NDArray[np.float64]
        if name == "refused_share":
            values = np.asarray(requests["status"] != STATUS[0], dtype=float)
            return values, ones
        if name == "waiting_share":
            return np.asarray(requests["waited"], dtype=float), ones
        if name == "hit_rate":
            return requests["hit_tokens"].to_numpy(), requests["input_tokens"].to_numpy()
        if name == "throughput":
            values = np.asarray(requests["status"] == STATUS[0], dtype=float)
            gaps = np.diff(requests["arrival"].to_numpy(), append=np.nan)
            gaps[~(gaps >= 0)] = np.nan  # between replications
            gaps = np.where(np.isnan(gaps), np.nanmean(gaps) if np.isfinite(gaps).any() else np.nan, gaps)
            return values, gaps
        if name not in requests.columns or name in {"status", "replica", "replication"}:
            known = ["running_sequences", "throughput", "refused_share", "waiting_share", "hit_rate", _GAPS]
            raise unknown("result", name, [*known, *requests.columns])
        values = np.asarray(requests[name], dtype=float)
        return values, np.isfinite(values).astype(float)

    def summary(self) -> pd.DataFrame:
        """Tabulate means and percentiles with their standard errors.

        Returns
        -------
        pandas.DataFrame
            Indexed by result, with columns ``mean``, ``mean_error`` and for each percentile such as ``p99`` and
            ``p99_error``. Latencies are in seconds, ``throughput`` in requests per second.
        """
        import pandas as pd

        rows: dict[str, dict[str, float]] = {}
        for name in ("time_to_first_token", "time_per_output_token", _GAPS, "request_latency", "queue"):
            rows[name] = dict(zip(("mean", "mean_error"), self.mean(name), strict=True))
            for q, estimate in zip(self.percentiles, self._percentiles(name, self.percentiles), strict=True):
                rows[name][percent(q)], rows[name][f"{percent(q)}_error"] = estimate
        for name in ("running_sequences", "throughput", "waiting_share", "refused_share", "hit_rate"):
            rows[name] = dict(zip(("mean", "mean_error"), self.mean(name), strict=True))
        return pd.DataFrame.from_dict(rows, orient="index")

    def _lines(self) -> list[tuple[str, ...]]:
        table = self.summary()
        labels = ["mean", *map(percent, self.percentiles)]
        lines = []
        for name, row in table.iterrows():
            unit = "s" if name in _LATENCIES or name == _GAPS else "sequence/s" if name == "throughput" else "1"
            cells = [_cell(row.get(k, math.nan), row.get(f"{k}_error", math.nan), unit) for k in labels]
            lines.append((str(name), *cells))
        return lines

    @property
    def _head(self) -> tuple[str, ...]:
        return "", "mean", *map(percent, self.percentiles)

    def _caption(self) -> str:
        load = f", load {self.load:.3g}" if math.isfinite(self.load) else ""
        return f"{len(self.requests):,} simulated requests{load}, seed {self.seed}; ± standard error"

    def __str__(self) -> str:
        return "\n".join([self._caption(), *columns([self._head, *self._lines()])])

    def _tables(self) -> list[Table]:
        return [(self._caption(), self._head, self._lines())]


def percent(q: float) -> str:
    """Return the name of a percentile: p99, p99.9."""
    return f"p{round(100 * q, 6):g}"


def _cell(value: float, error: float, unit: str) -> str:
    if math.isnan(value):
        return ""
    text = units.format(value, unit, 3)
    if value and math.isfinite(error):
        text += f" ± {100 * error / abs(value):.2g}%"
    return text


def _ratio(a: float, b: float) -> float:
    return float(a / b) if b else math.nan


def _quantiles(values: npt.NDArray[np.float64], shares: tuple[float, ...]) -> npt.NDArray[np.float64]:
    known = values[np.isfinite(values)]
    return np.quantile(known, shares) if known.size else np.full(len(shares), math.nan)


def _quantiles_of_bins(histogram: npt.NDArray[np.int64], shares: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """Return quantiles as middles of the bins, which are 0.2% wide."""
    below = np.cumsum(histogram)
    if not below[-1]:
        return np.full(len(shares), math.nan)
    bins = np.searchsorted(below, np.asarray(shares) * below[-1])
    return np.asarray(_core.LEAST_GAP * np.exp(_core.GAP_WIDTH * (bins + 0.5)))


def _error(values: Sequence[float]) -> float:
    """Return the standard error of a mean of such values, NaN for one value."""
    known = np.asarray(values)[np.isfinite(values)]
    return float(known.std(ddof=1) / math.sqrt(known.size)) if known.size > 1 else math.nan
