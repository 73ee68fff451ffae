"""`rs.Calibration`: fitted constants, to be anchored by measured rows, read and written."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.files import write
from roofslate.measured.anchor import anchored
from roofslate.presets.calibration import FittedConstants
from roofslate.presets.calibration_files import read, shipped_path, written

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["Calibration", "calibration"]


class Calibration(FittedConstants):
    """Fitted constants by input, so that ``**calibration`` passes them to any call.

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
    name : str
        Name of the calibration or its file; empty where it was fitted in this process.
    """

    def anchored(self, rows: pd.DataFrame, /, *, ignore: Sequence[str] = (), **inputs: Any) -> Calibration:
        """Shift the estimate by one or a few measured rows of your stack.

        Each output with a measured column gets a factor, shrunk towards 1 for small samples. Its logarithm is the
        logarithm of the mean ratio of measured to predicted, times v / (v + u / n) with n rows, the variance v among
        stacks and u within a stack, both of the fit.

        Parameters
        ----------
        rows : pandas.DataFrame
            Columns as for `calibrate`, or for `validate`.
        ignore : sequence of str
            Columns that are no inputs.
        **inputs
            Inputs that are the same for all rows.

        Returns
        -------
        Calibration
            With the factors among its constants and narrower bands, only for this stack.
        """
        return anchored(self, rows, ignore, inputs)

    def to_toml(self, path: str | os.PathLike[str]) -> None:
        """Write constants, covariances, errors and bands to a TOML file.

        Parameters
        ----------
        path : path-like
        """
        write(path, written(self))

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Calibration:
        """Read a file of `to_toml`.

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
        return read(Path(path), cls)


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
    >>> 1 < rs.calibration()["kernel_time_factor"] < 3
    True
    """
    return read(shipped_path(name), Calibration)
