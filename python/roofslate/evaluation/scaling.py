"""Over-training by several loss laws: compute-optimal tokens of a served model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.presets.catalog import loss_laws
from roofslate.presets.lookup import find_preset
from roofslate.presets.preset import Preset

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["optimum"]

_OF_THE_LAW = (
    "compute_optimal_tokens",
    "compute_optimal_tokens_per_parameter",
    "optimal_pretraining_tokens",
    "optimal_overtraining",
    "equal_cost_overtraining",
    "optimal_inference_training_ratio",
    "training_optimal_parameters",
    "optimal_lifetime_saving",
)

_AT_THE_OPTIMUM = ("overtraining_ratio", "pretraining_loss")


def optimum(loss_law: str | Preset | Sequence[str | Preset] | None = None, **inputs: Any) -> pd.DataFrame:
    """Compute the cheapest tokens for a loss with serving included, one row a loss law.

    Parameters
    ----------
    loss_law : str or Preset, or a sequence of them, optional
        Of `rs.loss_laws`; unless given, all that state the loss.
    **inputs
        Of the registry: `active_parameters`, `inference_tokens` and `decode_inefficiency`, or inputs that determine
        them.

    Returns
    -------
    pandas.DataFrame
        Index `loss_law`. The columns are quantities of the registry, in base units. The units are in
        ``attrs["units"]``.

    Examples
    --------
    >>> import roofslate as rs
    >>> table = rs.scaling.optimum(active_parameters=100e9, inference_tokens=200e12, decode_inefficiency=3)
    >>> (table["optimal_pretraining_tokens"] / 1e12).round(1).to_dict()["Besiroglu"]
    70.8
    """
    if loss_law is None:
        named: list[Any] = [law for law in loss_laws.values() if "loss_data_exponent" in law.values]
    else:
        named = [loss_law] if isinstance(loss_law, (str, Preset)) else list(loss_law)
    laws = [find_preset("loss_law", law) for law in named]
    best: Any = evaluate(list(_OF_THE_LAW), Settled(inputs), loss_law=laws)
    tokens = best["optimal_pretraining_tokens"].copy()
    tokens.attrs.clear()  # these are of another quantity
    trained = {**inputs, "pretraining_tokens": tokens}
    optima = best.merge(evaluate(list(_AT_THE_OPTIMUM), Settled(trained), loss_law=laws))
    table: pd.DataFrame = optima.to_dataframe()[[*_OF_THE_LAW, *_AT_THE_OPTIMUM]]
    table.attrs["units"] = {name: optima[name].attrs["units"] for name in table.columns}
    return table
