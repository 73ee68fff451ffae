"""Calibrations as TOML files: written, and read with every mistake named."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from roofslate._base.messages import shown, unknown
from roofslate._base.toml import TomlFile, toml_value
from roofslate.errors import PresetError, RoofslateError
from roofslate.presets.calibration import FittedConstants
from roofslate.presets.fits import ERRORS, KNOWN, PERCENTILES, Constant, Fit
from roofslate.registry.registry import entries, lookup, unknown_quantity
from roofslate.registry.values import input_quantity, number

__all__ = ["read", "shipped", "shipped_names", "shipped_path", "written"]

Constants = TypeVar("Constants", bound=FittedConstants)
_FOLDER = Path(__file__).with_name("data") / "calibrations"


def shipped_path(name: str) -> Path:
    """File of a calibration that comes with the package."""
    known = {path.stem: path for path in _FOLDER.glob("*.toml")}
    if name not in known:
        raise unknown("calibration", name, known)
    return known[name]


@functools.cache
def shipped_names() -> tuple[str, ...]:
    """Names of the calibrations that come with the package."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


@functools.cache
def shipped(name: str = "serving") -> FittedConstants:
    """Constants that come with the package, read once."""
    return read(shipped_path(name), FittedConstants)


def written(calibration: FittedConstants) -> str:
    """A calibration as a file has it."""
    lines = [f"data = {toml_value(calibration.data)}", f"date = {toml_value(calibration.date)}", "", "[settings]"]
    lines += [f"{name} = {toml_value(x)}" for name, x in calibration.settings.items()]
    for c in calibration.constants:
        q = lookup(c.name)
        lines += ["", f"# {q.brief}", f"[constant.{c.name}]", f"value = {toml_value(c.value)}", f'unit = "{q.unit}"']
        lines += [f"{key} = {toml_value(getattr(c, key))}" for key in ("low", "high", "deviation", "output", "by")]
        if c.values:
            lines += [
                f"[constant.{c.name}.values]",
                *(f"{toml_value(k)} = {toml_value(x)}" for k, x in c.values.items()),
            ]
    for fit in calibration.fits.values():
        heading = f"output.{fit.output}"
        lines += ["", f"[{heading}]"]
        lines += [f"{f.name} = {toml_value(getattr(fit, f.name))}" for f in _plain_fields(fit)]
        for name in ("kinds", "spread"):
            lines += ["", f"[{heading}.{name}]"]
            lines += [f"{toml_value(key)} = {toml_value(x)}" for key, x in getattr(fit, name).items()]
        for out, row in fit.errors.items():
            lines += ["", f"[{heading}.errors.{toml_value(out)}]"]
            lines += [f"{key} = {toml_value(x)}" for key, x in row.items()]
    return "\n".join(lines) + "\n"


def _plain_fields(fit: Fit) -> list[dataclasses.Field[Any]]:
    return [
        f
        for f in dataclasses.fields(fit)
        if not isinstance(x := getattr(fit, f.name), Mapping) and x is not None and f.name != "output"
    ]


def read(path: Path, constants_class: type[Constants]) -> Constants:
    """Read the calibration of a file. Errors name the file, the line and the key."""
    file = TomlFile.read(path, "calibration")
    try:
        return dataclasses.replace(_read(file.content, constants_class), name=path.stem)
    except _FileError as mistake:
        raise PresetError(f"{path}, line {file.line(mistake.keys)}: {mistake}") from None


class _FileError(Exception):
    """A mistake in a file, and the keys that lead to it."""

    def __init__(self, message: object, *keys: str) -> None:
        super().__init__(f"{'.'.join(keys)}: {message}")
        self.keys = keys


def _read(content: Mapping[str, Any], constants_class: type[Constants]) -> Constants:
    constants = tuple(_constant(name, table) for name, table in _tables(content, "constant").items())
    fits = {name: _fit(name, table) for name, table in _tables(content, "output").items()}
    named = {constant.name for constant in constants}
    for name, fit in fits.items():
        for constant_name in fit.constants:
            if constant_name.partition("[")[0] not in named:
                raise _FileError(f"there is no constant {constant_name!r}", "output", name, "constants")
    texts = [_text(content, key) for key in ("data", "date")]
    return constants_class(constants, fits, _settings(content.get("settings")), *texts)


def _settings(table: Any) -> dict[str, float | str]:
    if not isinstance(table, dict):
        raise _FileError("expected a table of inputs", "settings")
    for name in table:
        _check_setting(name, table[name])
    return dict(table)


def _check_setting(name: str, x: Any) -> None:
    try:
        number(x, input_quantity(name))
    except RoofslateError as error:
        raise _FileError(error, "settings", name) from None


def _tables(content: Mapping[str, Any], key: str) -> Mapping[str, Mapping[str, Any]]:
    tables = content.get(key)
    if not isinstance(tables, dict) or not tables or not all(isinstance(table, dict) for table in tables.values()):
        raise _FileError(f"expected a table for each {key}", key)
    for name in tables:
        if name not in entries():
            raise _FileError(unknown_quantity(name), key, name)
    return tables


def _text(table: Mapping[str, Any], key: str, *key_path: str) -> str:
    if not isinstance(table.get(key), str):
        raise _FileError(f"expected a text, got {shown(table.get(key))}", *key_path, key)
    return str(table[key])


def _number(table: Mapping[str, Any], key: str, *key_path: str) -> float:
    x = table.get(key)
    if isinstance(x, bool) or not isinstance(x, (int, float)) or not 0.0 <= x < math.inf:
        raise _FileError(f"expected a number of at least 0, got {shown(x)}", *key_path, key)
    return float(x)


def _numbers(x: Any, length: int, *key_path: str) -> tuple[float, ...]:
    complete = isinstance(x, list) and len(x) == length
    if not complete or not all(type(y) in (int, float) and math.isfinite(y) for y in x):
        raise _FileError(f"expected a list of {length} numbers", *key_path)
    return tuple(map(float, x))


def _texts(x: Any, *key_path: str) -> tuple[str, ...]:
    if not isinstance(x, list) or not all(isinstance(y, str) for y in x):
        raise _FileError("expected a list of texts", *key_path)
    return tuple(x)


def _constant(name: str, table: Mapping[str, Any]) -> Constant:
    key_path, q = ("constant", name), lookup(name)
    if _text(table, "unit", *key_path) != q.unit:
        raise _FileError(f"{name} is in {q.unit}, got {shown(table['unit'])}", *key_path, "unit")
    value, low, high, deviation = (_number(table, key, *key_path) for key in ("value", "low", "high", "deviation"))
    if not (q.low <= value <= q.high):
        raise _FileError(f"{name} must be {q.range_text}, got {value!r}", *key_path, "value")
    values = table.get("values", {})
    if not isinstance(values, dict):
        raise _FileError("expected a table", *key_path, "values")
    each = {key: _number(values, key, *key_path, "values") for key in values}
    output, by = (_text(table, key, *key_path) for key in ("output", "by"))
    return Constant(name, value, low, high, deviation, output, by, each)


def _fit(name: str, table: Mapping[str, Any]) -> Fit:
    key_path = ("output", name)
    constants = _texts(table.get("constants"), *key_path, "constants")
    covariance = table.get("covariance")
    if not isinstance(covariance, list) or len(covariance) != len(constants):
        raise _FileError(f"expected {len(constants)} rows", *key_path, "covariance")
    parts: dict[str, Mapping[str, Any]] = {}
    for part in ("kinds", "spread", "errors"):
        parts[part] = table.get(part, {})
        if not isinstance(parts[part], dict):
            raise _FileError("expected a table", *key_path, part)
    kinds = {column: _texts(x, *key_path, "kinds", column) for column, x in parts["kinds"].items()}
    spread = {
        key: _numbers(parts["spread"].get(key), len(PERCENTILES), *key_path, "spread", key) for key in (KNOWN, *kinds)
    }
    errors = {}
    for out, row in parts["errors"].items():
        if (
            not isinstance(row, dict)
            or set(row) != set(ERRORS)
            or not all(type(x) in (int, float) for x in row.values())
        ):
            raise _FileError(f"expected the numbers {', '.join(ERRORS)}", *key_path, "errors", out)
        errors[out] = {key: float(row[key]) for key in ERRORS}
    return Fit(
        name,
        _text(table, "measured", *key_path),
        constants,
        tuple(_numbers(row, len(constants), *key_path, "covariance") for row in covariance),
        errors,
        spread,
        kinds,
        _number(table, "between", *key_path),
        _number(table, "within", *key_path),
        _text(table, "anchor", *key_path) if "anchor" in table else None,
        _texts(table.get("together", []), *key_path, "together"),
    )
