"""What several fits of the loss law say of over-training: how many tokens a model should see that will be served."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate.errors import unknown
from roofslate.evaluation import frame
from roofslate.registry import lookup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["fits", "optimum"]

_ABOUT = ("source", "date", "read", "note")
_OF_THE_FIT = (
    "training_optimal_tokens",
    "training_optimal_token_ratio",
    "optimal_pretraining_tokens",
    "optimal_overtraining",
    "equal_cost_overtraining",
    "optimal_inference_training_ratio",
    "training_optimal_parameters",
    "optimal_lifetime_saving",
)
_AT_THE_OPTIMUM = ("overtraining_ratio", "pretraining_loss")


def fits() -> pd.DataFrame:
    """Published fits of the loss law, one row a fit.

    Returns
    -------
    pandas.DataFrame
        Index `fit`; a column for each coefficient, named as the input of the registry, and `source`, `date`, `read`
        (whether the numbers were read there), `note`.

    Examples
    --------
    >>> import roofslate as rs
    >>> float(rs.scaling.fits().loc["Besiroglu", "loss_data_exponent"])
    0.3658
    """
    import pandas as pd

    return pd.DataFrame(_rows()).set_index("name").rename_axis("fit")


def optimum(fit: str | Sequence[str] | None = None, **inputs: Any) -> pd.DataFrame:
    """Tokens that make a model of a given size cheapest for its loss, served tokens included; one row a fit.

    Parameters
    ----------
    fit : str or sequence of str, optional
        Rows of `fits`; all of them unless given.
    **inputs
        Of the registry: `active_parameters`, `inference_tokens` and `decode_inefficiency`, or what they follow from.

    Returns
    -------
    pandas.DataFrame
        Index `fit`; the columns are quantities of the registry, in base units. The units stand in ``attrs["units"]``.

    Examples
    --------
    >>> import roofslate as rs
    >>> table = rs.scaling.optimum(active_parameters=100e9, inference_tokens=200e12, decode_inefficiency=3)
    >>> (table["optimal_pretraining_tokens"] / 1e12).round(1).to_dict()["Besiroglu"]
    70.8
    """
    laws = fits().drop(columns=list(_ABOUT))
    if fit is not None:
        names = [fit] if isinstance(fit, str) else list(fit)
        for name in names:
            if name not in laws.index:
                raise unknown("fit", name, list(laws.index))
        laws = laws.loc[names]
    table = frame(laws, list(_OF_THE_FIT), **inputs)
    trained = laws.assign(pretraining_tokens=table["optimal_pretraining_tokens"])
    reached = frame(trained, list(_AT_THE_OPTIMUM), **inputs)
    table = table.join(reached)
    table.attrs["units"] = {name: lookup(name).unit for name in table.columns}
    return table


@functools.cache
def _rows() -> list[dict[str, Any]]:
    path = Path(__file__).with_name("data") / "scaling_laws.toml"
    rows: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["fit"]
    return rows
