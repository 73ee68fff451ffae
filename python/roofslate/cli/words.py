"""The words of a command line: quantities by name, inputs as NAME=VALUE, scenario files."""

from __future__ import annotations

import contextlib
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofslate._base.messages import shown
from roofslate._base.toml import TomlFile
from roofslate.cli.keywords import KEYWORDS
from roofslate.errors import RoofslateError, RoofslateWarning, UnknownName
from roofslate.grid.read import read_grid, with_scenario
from roofslate.presets.calibration import FittedConstants
from roofslate.presets.calibration_files import read
from roofslate.registry.registry import entries
from roofslate.registry.values import input_quantity, wanted_names
from roofslate.registry.words import DAY
from roofslate.units import geomspace, linspace
from roofslate.units.axes import MOST_POINTS

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from roofslate.registry.registry import Quantity


_PRESET_INPUTS = (
    "model",
    "hardware",
    "prices",
    "loss_law",
    "calibration",
    "storage",
    "api_prices",
    "speculator",
    "workload",
    "site",
    "engine",
)


_MOST_DIGITS = 1000  # of a number of points: Python reads some thousands


_INPUT = re.compile(r"\s*([^=<>!\s]*)\s*=(?!=)(.*)", re.DOTALL)  # a condition is none


_OPTIONS = ("threads", "units", "format", "scenario")  # written as inputs by mistake


def texts_of(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Outputs and inputs of a command line: an input is NAME=VALUE."""
    outputs: list[str] = []
    inputs: dict[str, str] = {}
    for word in words:
        written = _INPUT.fullmatch(word)
        if written is None:
            outputs.append(word.strip())
            continue
        name, value = (part.strip() for part in written.groups())
        if not name or not value:
            raise click.UsageError(f"{word!r}: an input is written NAME=VALUE, without spaces around the =")
        if name in inputs:
            raise click.UsageError(f"{name!r} is given twice")
        if name in _OPTIONS:
            raise click.UsageError(f"{name!r} is an option: --{name}")
        inputs[name] = value
    return outputs, inputs


def no_such_option(error: click.NoSuchOption) -> str:
    """Describe an option that does not exist, which may be an input or a keyword of the call."""
    name = error.option_name.lstrip("-").replace("-", "_")
    command = error.ctx.command if error.ctx else None
    takes_words = command is not None and any(parameter.name == "words" for parameter in command.params)
    known = (*KEYWORDS.get(str(command.name), ()), *_PRESET_INPUTS, DAY, *entries()) if command else ()
    if takes_words and name in known:
        return f"{error.option_name!r} is no option; write it as {name}=VALUE"
    return error.format_message()


def units_of(words: Iterable[str]) -> dict[str, str]:
    """Units of outputs, each given as NAME=UNIT."""
    stray, units = texts_of(words)
    if stray:
        raise click.UsageError(f"--units {stray[0]!r}: write NAME=UNIT")
    return units


def _quantity(name: str) -> Quantity | None:
    """Return the quantity of an input, None for presets and days. Unknown names are errors."""
    return None if name in (*_PRESET_INPUTS, DAY) else input_quantity(name)


def _value(name: str, text: str) -> Any:
    """Read a word or number, a list ``a,b,c`` or a range ``start:stop:points[:log]``."""
    q = _quantity(name)
    items = [item.strip() for item in text.split(",")]
    if not all(items):
        raise click.UsageError(f"{name}: the list {text!r} has an empty place")
    if name == "calibration":
        calibrations = [_calibration(item) for item in items]
        return calibrations if len(calibrations) > 1 else calibrations[0]
    if ":" not in text:
        return items if len(items) > 1 else items[0]
    if q is None or q.choices:
        raise click.UsageError(f"{name}: {text!r} is a range, but {name} takes words; a list is written with commas")
    return read_range(name, text)


def _calibration(text: str) -> Any:
    """The name of a calibration, or the constants of a file."""
    return read(Path(text), FittedConstants) if text.lower().endswith(".toml") else text


def read_range(name: str, text: str) -> Any:

    parts = [part.strip() for part in text.split(":")]
    if "," in text or len(parts) not in (3, 4) or not all(parts) or parts[3:] not in ([], ["log"]):
        raise click.UsageError(f"{name}: a range is written start:stop:points or start:stop:points:log, got {text!r}")
    start, stop, points = parts[:3]
    if not points.isdecimal():
        raise click.UsageError(f"{name}: the number of points of a range is a whole number, got {shown(points)}")
    if len(points) > _MOST_DIGITS:
        raise click.UsageError(f"{name}: a range has at most {MOST_POINTS:,} points, got {shown(points)}")
    # "1:50 ms" would begin at one second
    bare = [re.fullmatch(r"[-+\d._eE]+\s*([KMGTPE]i|[kMGT])?", end) is not None for end in (start, stop)]
    plain = start if bare[0] else stop
    if bare[0] != bare[1] and plain.strip("+-0._") != "":
        raise click.UsageError(f"{name}: give both ends of the range {text!r} a unit, or neither")
    return (geomspace if parts[3:] else linspace)(start, stop, int(points))


def scenario_inputs(path: Path | None, overridden: Container[str]) -> dict[str, Any]:
    """Read inputs of a scenario file, except overridden ones. Errors name file and line."""
    if path is None:
        return {}

    file = TomlFile.read(path, "scenario")
    inputs = {name: _scenario_input(name, file, path) for name in file.content}
    return {name: value for name, value in inputs.items() if name not in overridden}


def _scenario_input(name: str, file: TomlFile, path: Path) -> Any:

    try:
        _quantity(name)
        written = file.content[name]
        if isinstance(written, dict):
            raise click.UsageError(f"{name!r} is a table; a scenario file is a flat table of inputs")
        value = _value(name, written) if isinstance(written, str) else written
        if name != DAY:
            read_grid({name: value})
    except (click.UsageError, RoofslateError) as error:
        said = error.message if isinstance(error, click.UsageError) else error
        raise type(error)(f"{path}, line {file.line([name])}: {said}") from None
    return value


def read_inputs(texts: Mapping[str, str], scenario: Path | None) -> dict[str, Any]:
    """Combine inputs of the command line with inputs that only the scenario file gives."""
    inputs = {name: _value(name, text) for name, text in texts.items()}
    return with_scenario(None if scenario is None else scenario_inputs(scenario, texts), inputs)


@contextlib.contextmanager
def reported_warnings() -> Iterator[list[str]]:
    """Write the warnings of a call as lines of the command, and collect them."""
    messages: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always", RoofslateWarning)
        otherwise = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *position: Any, **more: Any) -> None:
            if issubclass(category, RoofslateWarning):
                messages.append(str(message))
                click.echo(f"roofslate: {message}", err=True)
            else:
                otherwise(message, category, *position, **more)

        warnings.showwarning = show
        yield messages


def check_outputs(names: Sequence[str]) -> None:
    """Refuse a name that is no quantity, with an example of an input."""
    try:
        wanted_names(names)
    except UnknownName as error:
        raise UnknownName(
            f"{error} (an input is written NAME=VALUE)" if "did you mean" not in str(error) else str(error)
        ) from None
