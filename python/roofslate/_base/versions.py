"""Versions and machine properties for bug reports."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import TextIO

from roofslate import _core
from roofslate._base.threads import thread_count
from roofslate._base.version import __version__

__all__ = ["show_versions"]


_NEEDED = ("click", "jinja2", "numpy", "pandas", "tqdm", "xarray")


_OPTIONAL = (
    *(
        "anywidget",
        "dask",
        "distributed",
        "h5netcdf",
        "h5py",
        "ipywidgets",
        "jupyterlab",
        "marimo",
        "matplotlib",
        "mcp",
    ),
    *("narwhals", "pint", "pyarrow", "scipy", "xlsxwriter", "zarr"),
)


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions of Roofslate, Python, and libraries, and the instruction set.

    Parameters
    ----------
    file : file-like, optional
        Where to print; standard output otherwise.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.show_versions()  # doctest: +ELLIPSIS
    roofslate        0.1.0
    python           3...
    """
    facts = {
        "roofslate": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "processor": platform.machine(),
        "instruction set": _core.instruction_set(),
        "threads": str(thread_count(None)),
    }
    facts |= {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
    out = file or sys.stdout
    for name, version in facts.items():
        out.write(f"{name:<16} {version}\n")


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
