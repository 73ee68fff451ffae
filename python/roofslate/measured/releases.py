"""Releases of training software: their names, and their use of recorded graphs."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.toml import read_data
from roofslate.presets.frameworks import framework_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from roofslate.presets.preset import Preset

__all__ = ["captured_kernels", "release_name"]

_FILE = Path(__file__).with_name("data") / "releases.toml"


def release_name(framework: Any, version: Any) -> str | None:
    """Name a release by its framework and the first two parts of its version.

    Parameters
    ----------
    framework, version : object
        Cells of a table; numbers are versions that a reader of CSV files took for one.

    Returns
    -------
    str or None
        ``"Megatron Bridge 26.04"`` of version 26.04.01, only the framework if no version is known.
    """
    if not isinstance(framework, str) or not framework:
        return None
    parts = _parts(version)
    return " ".join([framework_name(framework), ".".join(parts[:2])]) if parts else framework_name(framework)


def captured_kernels(rows: pd.DataFrame, models: Sequence[Preset]) -> list[float]:
    """Return the fraction of kernels that recorded graphs start, by each row's release.

    Parameters
    ----------
    rows : pandas.DataFrame
        Columns `framework`, `framework_version` and `weight_format`.
    models : sequence of Preset
        The model of each row.

    Returns
    -------
    list of float
    """
    cells = zip(rows["framework"], rows["framework_version"], rows["weight_format"], models, strict=True)
    return [_captured(framework, version, written, model) for framework, version, written, model in cells]


def _captured(framework: Any, version: Any, written: str, model: Preset) -> float:
    gated = float(model.values.get("experts", 1)) > 1 and model.values.get("matrices_per_expert", 3) == 3
    for rule in _rules():
        alike = isinstance(framework, str) and framework_name(framework) == rule["framework"]
        if alike and gated and written in rule["recipes"] and _parts(version) >= _parts(rule["since"]):
            return float(rule["captured_kernels"])
    return 0.0


@functools.cache
def _rules() -> tuple[Mapping[str, Any], ...]:
    return tuple(read_data(_FILE)["release"])


def _parts(version: Any) -> tuple[str, ...]:
    """The parts of a version, each with as many digits as the others of its place."""
    if isinstance(version, float):
        return () if math.isnan(version) else tuple(f"{version:.2f}".split("."))
    return tuple(part.zfill(2) for part in version.split(".")) if isinstance(version, str) and version else ()
