"""Answers as texts that differ if any bit, name, unit or word differs."""

from __future__ import annotations

import hashlib
import math
import re
import struct
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import roofslate as rs
import xarray as xr

__all__ = ["Answer", "ask"]

# Public parts of results, by class. Texts come last, so differences in numbers are seen first.
_PARTS: dict[str, tuple[str, ...]] = {
    "Axis": ("start", "stop", "num", "spacing", "unit"),
    "Bands": ("level", "calibration"),
    "Calibration": ("constants", "settings", "data", "date", "errors", "covariance", "standard_errors", "to_frame()"),
    "Chart": ("name", "number", "title", "chapter", "brief", "size", "__doc__", "__signature__"),
    "Comparison": ("before", "after", "ratio", "factors", "_repr_html_()"),
    "Constant": ("name", "value", "low", "high", "deviation", "output", "by", "values", "text", "remark"),
    "Dependencies": ("values", "edges", "given", "binding"),
    "Deployments": ("table", "rejected", "always", "maximize", "units", "_repr_html_()"),
    "Explanation": ("value", "steps", "inputs", "band", "graph()", "markdown", "latex", "html"),
    "Fact": ("value", "unit", "written", "source", "date", "read", "origin"),
    "Given": ("value", "result", "origin"),
    "Inference": (
        "verdicts", "relations", "contradictions", "assumptions", "tiers", "architectures", "_repr_html_()",
    ),
    "Model": ("name", "kind", "facts", "attributes", "note", "origin", "values", "parts", "unknown", "assumptions",
              "cache_table()", "parameter_table()", "stored_bytes()", "_repr_html_()"),
    "PoolDeployments": ("table", "rejected", "always", "maximize", "units", "_repr_html_()"),
    "Preset": ("name", "kind", "facts", "aliases", "attributes", "note", "origin", "values", "date", "_repr_html_()"),
    "Quantity": (
        "name", "theme", "symbol", "unit", "brief", "source", "computed", "low", "high", "above_low", "default",
        "choices", "needs", "fallback", "bound", "formula", "latex", "used_by", "range_text", "takes_infinity",
        "_repr_html_()",
    ),
    "Step": ("value", "result", "needs", "formula", "substituted", "latex", "latex_substituted", "choices", "remark"),
    "Tornado": ("base", "table", "_repr_html_()"),
    "Validation": ("holds", "rows", "summary", "published", "bounds", "_repr_html_()"),
    "VarianceShares": ("mean", "variance", "table", "_repr_html_()"),
}  # fmt: skip
_WITHOUT_REPR = ("Dependencies",)  # it shows sets, which have no order
_LEFT_OUT = ("roofslate_version",)  # attributes
_FOLDERS = tuple(re.escape(str(path)) for path in (tempfile.gettempdir(), Path(rs.__file__).parent))
_PLACES = re.compile(rf"(?:{'|'.join(_FOLDERS)})[\w./-]*/")
_ADDRESS = re.compile(r"\bat 0x[0-9a-f]+")


def neutral(text: str) -> str:
    """Remove addresses and folders of this run from a text."""
    return _ADDRESS.sub("at 0x", _PLACES.sub("<folder>/", text))


class Answer:
    """The result of a question: lines with every bit, and the order of unordered parts."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.order: list[str] = []
        self.failed = False

    @property
    def digest(self) -> str:
        return hashlib.sha256("\n".join(self.lines).encode("utf-8", "surrogatepass")).hexdigest()[:24]

    @property
    def order_digest(self) -> str:
        return hashlib.sha256("\n".join(self.order).encode("utf-8", "surrogatepass")).hexdigest()[:8]

    def add(self, path: str, x: Any) -> None:
        """Record a value, part by part."""
        kind = type(x).__name__
        if isinstance(x, xr.DataArray):
            self._array(path, x)
        elif isinstance(x, xr.Dataset):
            self._line(path, f"Dataset of {list(x.data_vars)}")
            for name in x.data_vars:
                self._variable(f"{path}[{name!r}]", x[name].variable)
            self._coords(path, x)
            self._mapping(f"{path}.attrs", x.attrs)
        elif isinstance(x, pd.DataFrame):
            self._line(path, f"DataFrame, columns {list(x.columns)!r} called {list(x.columns.names)!r}")
            self._index(f"{path}.index", x.index)
            for k, name in enumerate(x.columns):
                self._cells(f"{path}[{name!r}]", x.iloc[:, k])
            self._mapping(f"{path}.attrs", x.attrs)
        elif isinstance(x, pd.Series):
            self._line(path, f"Series called {x.name!r}")
            self._index(f"{path}.index", x.index)
            self._cells(path, x)
            self._mapping(f"{path}.attrs", x.attrs)
        elif isinstance(x, pd.Index):
            self._index(path, x)
        elif isinstance(x, np.ndarray):
            self._numbers(path, x)
        elif kind in _PARTS and type(x).__module__.startswith("roofslate"):
            self._parts(path, x)
        elif isinstance(x, Mapping):
            self._mapping(path, x)
        elif isinstance(x, (list, tuple)):
            fields = getattr(x, "_fields", None)
            self._line(path, f"{kind if fields else 'sequence'} of {len(x)}")
            for k, item in enumerate(x):
                self.add(f"{path}.{fields[k]}" if fields else f"{path}[{k}]", item)
        elif isinstance(x, (set, frozenset)):
            self._line(path, f"{kind} {sorted(map(repr, x))!r}")
        elif isinstance(x, (float, np.floating)):
            self._line(path, f"{kind} {_hex(float(x))} ({x!r})")
        elif isinstance(x, (bool, int, np.integer, np.bool_, bytes)) or x is None:
            self._line(path, f"{kind} {x!r}")
        elif isinstance(x, str):
            self._line(path, f"str {neutral(x)!r}")
        elif type(x).__module__.startswith("matplotlib"):
            self._axes(path, x)
        else:
            self._line(path, f"{kind}: {neutral(str(x))!r}")

    def _line(self, path: str, text: str) -> None:
        self.lines.append(f"{path}: {text}")

    def _array(self, path: str, x: xr.DataArray) -> None:
        self._line(path, f"DataArray called {x.name!r}")
        self._variable(path, x.variable)
        self._coords(path, x)

    def _variable(self, path: str, x: xr.Variable) -> None:
        chunks = f", chunks {x.chunks!r}" if x.chunks else ""
        self._line(path, f"dims {list(x.dims)!r}{chunks}")
        self._numbers(path, x.to_numpy())
        self._mapping(f"{path}.attrs", x.attrs)

    def _coords(self, path: str, x: xr.DataArray | xr.Dataset) -> None:
        self.order.append(f"{path}.coords: {list(x.coords)!r}")
        for name in sorted(map(str, x.coords)):
            self._variable(f"{path}.coords[{name!r}]", x[name].variable)
        self._line(path, f"indexes {sorted((str(name), type(index).__name__) for name, index in x.indexes.items())!r}")

    def _index(self, path: str, x: pd.Index) -> None:
        self._line(path, f"{type(x).__name__} called {list(x.names)!r}")
        for k in range(x.nlevels):
            level = x.get_level_values(k)
            self._cells(f"{path}[{k}]" if x.nlevels > 1 else path, pd.Series(level))

    def _cells(self, path: str, x: pd.Series) -> None:
        if isinstance(x.dtype, pd.CategoricalDtype):
            self._line(path, f"category {list(x.cat.categories)!r}, {x.cat.ordered}")
            self._numbers(path, x.cat.codes.to_numpy())
        elif x.dtype.kind in "fiub" and isinstance(x.dtype, np.dtype):
            self._numbers(path, x.to_numpy())
        else:
            self._line(path, f"{x.dtype} column")
            for k, item in enumerate(x.tolist()):
                self.add(f"{path}[{k}]", item)

    def _numbers(self, path: str, x: np.ndarray[Any, Any]) -> None:
        if x.dtype.kind not in "fiub":
            self._line(path, f"{x.dtype.kind} array of {x.shape}")
            for k, item in enumerate(x.ravel().tolist()):
                self.add(f"{path}[{k}]", item)
            return
        x = np.array(x, order="C")
        if x.dtype.kind == "f":
            x[np.isnan(x)] = np.nan  # NaN of any payload
        digest = hashlib.sha256(x.tobytes()).hexdigest()[:24]
        with np.printoptions(precision=17, threshold=40, edgeitems=6, floatmode="unique", linewidth=10**6):
            self._line(path, f"{x.dtype.str} of {x.shape} {digest} {x.ravel()}")

    def _mapping(self, path: str, x: Mapping[Any, Any]) -> None:
        entries = {name: value for name, value in x.items() if name not in _LEFT_OUT}
        self._line(path, f"{len(entries)} entries")
        self.order.append(f"{path}: {list(entries)!r}")
        for name in sorted(entries, key=repr):
            self.add(f"{path}[{name!r}]", entries[name])

    def _parts(self, path: str, x: Any) -> None:
        self._line(path, f"a {type(x).__name__}")
        for part in _PARTS[type(x).__name__]:
            member = getattr(x, part.removesuffix("()"))
            self.add(f"{path}.{part}", member() if part.endswith("()") else member)
        if isinstance(x, Mapping):
            self._mapping(path, x)
        self.add(f"str({path})", str(x))
        if type(x).__name__ not in _WITHOUT_REPR:
            self.add(f"repr({path})", repr(x))

    def _axes(self, path: str, x: Any) -> None:
        """Record the content of a plot."""
        self._line(path, type(x).__name__)
        if not hasattr(x, "get_lines"):
            return
        for part in ("title", "xlabel", "ylabel", "xscale", "yscale", "xlim", "ylim"):
            self.add(f"{path}.{part}", getattr(x, f"get_{part}")())
        for k, line in enumerate(x.get_lines()):
            self.add(
                f"{path}.line {k}", [str(line.get_label()), np.asarray(line.get_xdata()), np.asarray(line.get_ydata())]
            )
        self.add(f"{path}.texts", [(text.get_text(), text.get_position()) for text in x.texts])
        self._line(path, f"{len(x.patches)} patches, {len(x.collections)} collections, {len(x.images)} images")
        legend = x.get_legend()
        self.add(f"{path}.legend", [text.get_text() for text in legend.get_texts()] if legend else None)


def _hex(x: float) -> str:
    return struct.pack(">d", math.nan if math.isnan(x) else x).hex()


def ask(code: str, space: Mapping[str, Any]) -> tuple[Answer, Any]:
    """Answer a question, with its result. Errors are answers, warnings parts of them."""
    answer = Answer()
    result: Any = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = eval(code, dict(space))
            answer.add("answer", result)
        except Exception as error:  # every error is an answer
            result = error
            answer.failed = True
            answer.lines.append(f"{type(error).__name__}: {neutral(str(error))}")
            answer.lines += [f"note: {neutral(note)}" for note in getattr(error, "__notes__", ())]
    answer.lines += sorted({f"{w.category.__name__}: {neutral(str(w.message))}" for w in caught if _is_ours(w)})
    return answer, result


def _is_ours(caught: warnings.WarningMessage) -> bool:
    return not issubclass(caught.category, (DeprecationWarning, PendingDeprecationWarning, ResourceWarning))
