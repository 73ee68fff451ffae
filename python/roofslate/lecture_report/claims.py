"""Registers of the lecture with computed numbers: inconsistencies, conclusions, claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate._base.messages import unknown, warn
from roofslate.errors import UnusedInput
from roofslate.lecture_report.entries import check_inputs, computed, entries_of, listed, recomputed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

__all__ = ["claims", "conclusions", "inconsistencies", "inconsistencies_shown"]

_KINDS = ("mental model", "prediction", "claim")


def inconsistencies(chapter: int | None = None, **inputs: Any) -> pd.DataFrame:
    """List differences between the lecture, its retellings and published fact.

    Parameters
    ----------
    chapter : int, optional
        Only entries of this chapter of the lecture.
    **inputs
        Of the registry, such as `hardware` or `active_parameters`: they replace stored inputs. Listed are
        the entries with a number that changes.

    Returns
    -------
    pandas.DataFrame
        Index `entry`; columns `chapter`, `topic`, `claims` (by source), `computed` (consequences, as texts),
        `values` (the same as numbers), `why` (how the package takes it). Three of them are tuples. With inputs,
        `lecture_values` has the numbers without them; a number that they leave undefined is NaN, and its text says why.

    Raises
    ------
    ValueRangeError
        For a chapter that the register has not, and for an input out of its range.
    UnknownName
        For an input that does not exist.

    Warns
    -----
    UnusedInput
        If no number of these entries changes with an input.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.inconsistencies().loc["I4", "computed"]
    ('a byte: 562.5 MAC/B', 'an FP4 weight: 281.25 tok')
    >>> rs.inconsistencies(1, hbm_capacity="96 GB").loc["I39", "computed"][0]
    'drain time at 20 TB/s: 4.8 ms'
    """
    return _register(entries_of("inconsistencies", chapter), inputs, "entry", ["chapter", "topic", "claims", "why"])


def conclusions(**inputs: Any) -> pd.DataFrame:
    """List the lecture's eight conclusions with their numbers, or with yours.

    Parameters
    ----------
    **inputs
        Of the registry, such as `model` and `hardware`: they replace stored inputs.

    Returns
    -------
    pandas.DataFrame
        Index `conclusion`; columns `chapter`, `topic`, `lecture` (the conclusion), `computed` (its numbers, as texts),
        `values` (the same as numbers). With inputs, `lecture_values` has the numbers without them; a number that they
        leave undefined is NaN, and its text says why.

    Raises
    ------
    UnknownName
        For an input that does not exist.
    ValueRangeError
        For an input out of its range.

    Warns
    -----
    UnusedInput
        If no number changes with an input.

    See Also
    --------
    inconsistencies : Differences between sources.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.conclusions().loc["batch", "computed"]
    ('balance batch: 2,400 seq',)
    >>> rs.conclusions(model="DeepSeek-V3", hardware="HGX H200").loc["floor", "computed"]
    ('latency floor: 17.475 ms',)
    """
    return _register(listed("conclusions.toml", "row"), inputs, "conclusion", ["chapter", "topic", "lecture"])


def _register(
    rows: Sequence[Mapping[str, Any]], inputs: Mapping[str, Any], index: str, columns: list[str]
) -> pd.DataFrame:
    """Tabulate entries with their numbers, and with inputs the lecture's numbers too."""
    import pandas as pd

    check_inputs(inputs)
    records: list[dict[str, Any]] = []
    changing: set[str] = set()
    for row in rows:
        record = {index: row["id"], **{name: _cell(row[name]) for name in columns}}
        texts, values = computed(row["computed"])
        if inputs:
            changed = recomputed(row["computed"], inputs)
            changing |= changed.changing
            if index == "entry" and not changed.changing:
                continue
            record["lecture_values"] = values
            texts, values = changed.texts, changed.values
        records.append({**record, "computed": texts, "values": values})
    if unused := [name for name in inputs if name not in changing]:
        warn("; ".join(f"no number of the register changes with {name!r}" for name in unused), UnusedInput)
    first, last = [name for name in columns if name != "why"], [name for name in columns if name == "why"]
    order = [*first, "computed", "values", *last, *(["lecture_values"] if inputs else [])]
    return pd.DataFrame(records, columns=[index, *order]).set_index(index)


def _cell(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


def inconsistencies_shown() -> float:
    """Count the entries that show at least two sides, computed or quoted.

    Returns
    -------
    float
    """
    return float(
        sum(max(len(entry["claims"]), len(entry["computed"])) >= 2 for entry in entries_of("inconsistencies", None))
    )


def claims(kind: str | None = None) -> pd.DataFrame:
    """List the lecture's mental models, predictions and dated claims.

    Parameters
    ----------
    kind : {"mental model", "prediction", "claim"}, optional
        Only these.

    Returns
    -------
    pandas.DataFrame
        Columns `kind`, `claim`, `who`, `date` (when it was said), `standing` (present state), `checked`
        (when), `computed` (relevant results, as texts) and `values` (the same as numbers). Two of them are tuples.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.claims("prediction")["claim"].iloc[0]
    'sparse attention spreads'
    """
    import pandas as pd

    if kind is not None and kind not in _KINDS:
        raise unknown("kind of claim", kind, _KINDS)
    said = ["kind", "claim", "who", "date", "standing", "checked"]
    rows = [
        (*(entry[name] for name in said), *computed(entry["computed"]))
        for entry in _claims()
        if kind in (None, entry["kind"])
    ]
    return pd.DataFrame(rows, columns=[*said, "computed", "values"])


def _claims() -> list[dict[str, Any]]:
    return listed("claims.toml", "claim")
