"""The catalog of kernel facts: times and efficiencies by chip, engine and number format."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from roofslate._base.messages import unknown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["kernel_facts"]

_FILE = Path(__file__).with_name("data") / "kernels.csv"
_SOURCE = "aiconfigurator-core 0.12.0 (Apache-2.0), systems/data"


@functools.cache
def _catalog() -> pd.DataFrame:
    import pandas as pd

    table = pd.read_csv(_FILE, dtype={"date": str, "engine_version": str})
    table["source"] = f"{_SOURCE}/" + table["source"]
    return table


def kernel_facts(chip: str | None = None, fact: str | None = None) -> pd.DataFrame:
    """Return facts about kernels: fixed times, and fractions of bandwidth and bf16 peak.

    Estimates use the values of the quickest engine on a chip. Its preset in `hardware` has these values, as fractions
    of the peak in their format. Your own chip gets them from `load_presets` or ``hardware.define``.

    Parameters
    ----------
    chip : str, optional
        ``"H100"``: the facts of one chip.
    fact : str, optional
        ``"gemm_fixed_time"``: one fact of all chips.

    Returns
    -------
    pandas.DataFrame
        Columns `fact`, `chip`, `engine`, `engine_version`, `format`, `chips`, `value`, `unit`, `low` and `high` (10%
        and 90% of the samples), `samples`, `method`, `source`, `date`.

    Raises
    ------
    UnknownName
        For a chip or a fact that the catalog does not have.

    Examples
    --------
    >>> import roofslate as rs
    >>> print(rs.kernel_facts("B200", "attention_prefill_bf16_peak_share")["value"].max())
    0.5921
    """
    facts = _catalog()
    for column, requested in (("chip", chip), ("fact", fact)):
        if requested is not None:
            known = facts[column].unique().tolist()
            if requested not in _catalog()[column].to_numpy():
                raise unknown(f"{column} of the kernel catalog", requested, known)
            facts = facts[facts[column] == requested]
    return facts.reset_index(drop=True)
