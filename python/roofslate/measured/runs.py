"""Tables of measured serving and training runs: common columns, read to inputs."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.files import read_text
from roofslate._base.locks import cached_property
from roofslate._base.messages import shown, unknown
from roofslate._base.toml import read_data
from roofslate.errors import InputTypeError, MissingInput, PresetError, UnknownName
from roofslate.grid.columns import read_columns
from roofslate.measured import software
from roofslate.measured.checkpoints import FORMATS, checkpoint_format, number_formats, stored_formats
from roofslate.measured.releases import captured_kernels, release_name
from roofslate.measured.stored import TOLERANCE, compute
from roofslate.presets.catalog import measured_as
from roofslate.presets.frameworks import framework_name
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.presets.preset import Preset
from roofslate.registry.registry import entries, spellings

if TYPE_CHECKING:
    import pandas as pd

    from roofslate.grid.columns import Columns

__all__ = ["COLUMNS", "INPUTS", "TARGETS", "Runs", "Table", "published", "read", "read_csv", "shipped"]

# Measured columns and their quantities. The second table: numbers without conversion.
TARGETS = {
    "time_per_output_token_s": "time_per_output_token",
    "time_to_first_token_s": "time_to_first_token",
    "request_latency_s": "request_latency",
    "prefill_time_s": "prefill_time",
    "tokens_per_second_per_chip": "tokens_per_second_per_chip",
    "trained_tokens_per_second_per_chip": "trained_tokens_per_second_per_chip",
    "training_utilization": "training_utilization",
}

FIRST_TOKEN = "time_to_first_token_s"
_TRAINING = {"trained_tokens_per_second_per_chip", "training_utilization"}

_NUMBERS = {
    "chips": "chips",
    "tensor_parallel": "tensor_parallel",
    "attention_data_parallel": "attention_data_parallel",
    "pipeline_parallel": "pipeline_stages",
    "concurrency": "concurrency",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}

_MODES = {"aggregated": "aggregated", "disaggregated decode pool": "disaggregated"}
INPUTS: Mapping[Any, str] = {**_NUMBERS, "mode": "serving_mode"}

# Required columns, for all runs and by purpose, serving or training.
_WORDS = ("model", "hardware", "weight_format", "chips")
_SERVED = ("concurrency", "input_tokens", "output_tokens")
_TRAINED = ("sequence_length",)
_NOTES = (
    "id",
    "framework",
    "framework_version",
    "release",
    "recipe",
    "expert_parallel",
    "doubtful_label",
    "speculation",
    "speculation_basis",
    "measured",
    "source",
    "table",
    "requests_per_second",
    "output_tokens_per_second",
    "requests",
    "failed_requests",
    "file",
    "file_format",
)
_LOAD = "arrival_rate"  # of clients that do not wait: a note, since the concurrency that was reached is given
# Percentiles of measured times, which are notes: the closed forms predict means.
_PERCENTILE = re.compile(r"(time_per_output_token|time_to_first_token|request_latency)_(median|p\d+(\.\d+)?)_s")
_SPECULATION = ("none", "yes", "unknown")  # whether a run used drafts
_SUFFIX = re.compile(r"(-(Instruct|Chat|FP8|NVFP4|FP4|\d{4}))+$")  # of a checkpoint with the model's shape
_LARGEST = 64_000_000  # bytes of a file
_MOST_COLUMNS = 1000
_LINE = "line"
COLUMNS = (*_WORDS, *_NUMBERS, *_NOTES, "mode", _LOAD, *TARGETS)
_FOLDER = Path(__file__).with_name("data")


@dataclass(frozen=True)
class Runs:
    """Measured runs, ready to be predicted.

    Attributes
    ----------
    rows : pandas.DataFrame
        As they were given.
    inputs : pandas.DataFrame
        The inputs of each row, by the names of the registry; presets as such.
    targets : dict of str
        The measured columns, and the quantities that predict them.
    fixed : dict
        Inputs that are the same for all rows.
    drafts : numpy.ndarray
        Whether each row ran with drafts of unknown length, to be completed by published scripts.
    """

    rows: pd.DataFrame
    inputs: pd.DataFrame
    targets: Mapping[str, str]
    fixed: Mapping[str, Any]
    drafts: Any
    _kinds: dict[str, list[str | None]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def doubtful(self) -> Any:
        """Return True for rows with a label that cannot describe one replica."""
        if "doubtful_label" not in self.rows:
            return np.zeros(len(self.rows), dtype=bool)
        return self.rows["doubtful_label"].to_numpy(dtype=float, na_value=0.0) != 0

    @property
    def plain(self) -> Any:
        """Return True for rows to fit and score: neither doubtful nor with unknown drafts."""
        return ~self.doubtful & ~self.drafts

    @property
    def split(self) -> Any:
        """Return True for decode pools, which differ from servers that also prefill."""
        if "serving_mode" not in self.inputs:
            return np.zeros(len(self.rows), dtype=bool)
        pools = (self.inputs["serving_mode"] == "disaggregated").to_numpy()
        return pools if not pools.all() else np.zeros(len(pools), dtype=bool)

    def counted(self, column: str) -> Any:
        """Return True for rows that a measured column is fitted and scored by.

        The first token of a decode pool waits for chips that prefill, whose number no label says.
        """
        return self.plain & ~self.split if column == FIRST_TOKEN else self.plain

    def kinds(self, column: str) -> list[str | None]:
        """Return each row's label in a column, or None. Presets and frameworks have full names.

        The release follows from the framework and its version, the recipe is the number format as written.
        """
        if column not in self._kinds:
            self._kinds[column] = self._read_kinds(column)
        return self._kinds[column]

    @cached_property
    def columns(self) -> Columns:
        """The inputs, read once for all predictions."""
        return read_columns(self.inputs, (), ())

    def _read_kinds(self, column: str) -> list[str | None]:
        if column in PRESETS:
            return [measured_as(preset) for preset in self.inputs[column]]
        if column == "release" and {"framework", "framework_version"} <= {*self.rows.columns} - {"release"}:
            return list(map(release_name, self.rows["framework"], self.rows["framework_version"]))
        if column == "recipe" and "recipe" not in self.rows and "weight_format" in self.rows:
            return list(self.rows["weight_format"])
        if column not in self.rows:
            return [None] * len(self.rows)
        full_name = framework_name if column == "framework" else str
        return [full_name(x) if isinstance(x, str) else None for x in self.rows[column]]


def read_csv(path: Path) -> pd.DataFrame:
    """Read a file of measured runs, with line numbers for messages.

    Parameters
    ----------
    path : Path

    Returns
    -------
    pandas.DataFrame

    Raises
    ------
    PresetError
        With the file, and the line if a row has too many fields.
    """
    import pandas as pd

    text = read_text(path, "table of measured runs", _LARGEST)
    columns = text.partition("\n")[0].count(",") + 1
    if columns > _MOST_COLUMNS:
        raise PresetError(f"{path} has {columns:,} columns; a table of measured runs has at most {_MOST_COLUMNS:,}")
    try:
        table = pd.read_csv(io.StringIO(text), low_memory=False)  # or a column could have several types
        lines = list(_lines(text))[1:]
    except (pd.errors.ParserError, pd.errors.EmptyDataError, csv.Error) as error:
        raise PresetError(f"{path}: {str(error).strip()}") from None
    if len(lines) == len(table):
        table.index = pd.Index(lines, name=_LINE)
    return table


def _lines(text: str) -> Iterator[int]:
    """Return the line on which each row begins. A field may span lines."""
    reader = csv.reader(io.StringIO(text))
    line = 1
    for cells in reader:
        if cells:
            yield line
        line = reader.line_num + 1


def read(
    table: pd.DataFrame,
    *,
    models: Mapping[str, Any] | None = None,
    hardware: Mapping[str, Any] | None = None,
    ignore: Iterable[str] = (),
    fixed: Mapping[str, Any] | None = None,
) -> Runs:
    """Read a table of measured runs.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns `model`, `hardware`, `weight_format`, `chips`; of a run that serves `concurrency`, `input_tokens`,
        `output_tokens`, of one that trains `sequence_length`; if not 1 `tensor_parallel`,
        `attention_data_parallel`, `pipeline_parallel`; `mode`; `framework`; measured columns, `TARGETS`; notes; and
        any input of the registry.
    models, hardware : dict, optional
        Presets by names that the catalogs do not have.
    ignore : iterable of str
        Further columns that are no inputs.
    fixed : dict, optional
        Inputs that are the same for all rows.

    Returns
    -------
    Runs
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise InputTypeError(f"table: expected a pandas.DataFrame, got {type(table).__name__}")
    table = table.rename(columns=spellings())
    ignored = {ignore} if isinstance(ignore, str) else set(ignore)
    names = [(column, True) if column in ignored else (INPUTS.get(column, column), False) for column in table.columns]
    for name, _ in (name for name in names if names.count(name) > 1):
        raise InputTypeError(f"the table has two columns of the same name or meaning, {name!r}: leave one out")
    trains = not _TRAINING.isdisjoint(table.columns)
    words = (*_WORDS, *(_TRAINED if trains else _SERVED))
    known = {*_NUMBERS, *_NOTES, *words, "mode", *TARGETS}
    ignored |= {column for column in table.columns if column == _LOAD or _PERCENTILE.fullmatch(str(column))}
    for column in table.columns:
        if column not in known and column not in ignored and column not in entries():
            raise unknown("column", column, [*known, *entries()])
    for column in words:
        if column not in table.columns and column not in (fixed or {}):
            raise MissingInput(f"the table has no column {column!r}")
    targets = {column: output for column, output in TARGETS.items() if column in table.columns}
    inputs: dict[str, Any] = {
        "model": _presets(table, "model", models or {}, fixed or {}),
        "hardware": _presets(table, "hardware", hardware or {}, fixed or {}),
    }
    for column, name in _NUMBERS.items():
        if column in table.columns:
            inputs[name] = _numbers(table, column)
    if "mode" in table.columns:
        inputs["serving_mode"] = [_MODES[word] for word in _words(table, "mode", _MODES)]
    written = table if "weight_format" in table else table.assign(weight_format=(fixed or {})["weight_format"])
    words_of_rows = _words(written, "weight_format", FORMATS)
    written_as = words_of_rows if trains else map(checkpoint_format, inputs["model"], words_of_rows)
    given = ({*table.columns} - ignored) | {*(fixed or {})}
    inputs |= {name: x for name, x in number_formats(written_as).items() if name not in given - {"weight_format"}}
    for column in table.columns:
        if column in entries() and column not in inputs and column not in TARGETS and column not in ignored:
            inputs[column] = table[column].array
    for name, values in ({} if trains else stored_formats(written, inputs, (fixed or {}).get("kv_format"))).items():
        if name not in inputs and name not in (fixed or {}):
            inputs[name] = values
    dated = trains and {"framework", "framework_version"} <= {*table.columns}
    if dated and "captured_kernels" not in {*inputs, *(fixed or {})}:
        inputs["captured_kernels"] = captured_kernels(written, inputs["model"])
    for column in targets:
        _numbers(table, column)
    if "measured" in table.columns and "measured" not in ignored and not trains:
        inputs.setdefault("release_age", software.release_ages(table["measured"]))
    if "time_to_first_token" in targets.values() and "framework" in table.columns and "concurrency" in inputs:
        inputs.setdefault("receive_interval", software.receive_intervals(table["framework"], inputs, words_of_rows))
    inputs = ({} if trains else software.schedules(table, inputs, (fixed or {}).get("prompt_policy"))) | inputs
    same = {name: x for name, x in (fixed or {}).items() if name not in PRESETS and name != "weight_format"}
    inputs = {name: x for name, x in inputs.items() if name not in software.SUGGESTED & {*same} - {*table.columns}}
    drafts = np.zeros(len(table), dtype=bool)
    if "speculation" in table.columns and "speculation" not in ignored:
        drafts = np.array(_words(table, "speculation", _SPECULATION)) == "yes"
    unknown_length = "draft_length" not in {*inputs, *same}
    if drafts.any() and unknown_length and "framework" in table.columns and not trains:
        inputs |= software.drafts(table["framework"], inputs, words_of_rows, drafts)
    return Runs(table, pd.DataFrame(inputs, index=table.index), targets, same, drafts & unknown_length)


def _presets(
    table: pd.DataFrame, column: str, named_presets: Mapping[str, Any], fixed: Mapping[str, Any]
) -> list[Preset]:
    """Return the preset of each row, by its full name, its short name or the caller's names."""
    if not isinstance(named_presets, Mapping):
        raise InputTypeError(f"{column}: expected a dict of presets by name, got {shown(named_presets)}")
    if column not in table.columns:
        return [find_preset(column, fixed[column])] * len(table)
    preset_of: dict[Any, Preset] = {}
    for name in _distinct(table, column, "the name of a preset"):
        if isinstance(name, Preset):
            preset_of[name] = name
            continue
        preset = named_presets.get(name)
        catalog = PRESETS[column]
        bare = name.rpartition("/")[2]
        for known in (name, bare, _SUFFIX.sub("", bare)):
            if preset is None and known in catalog:
                preset = catalog[known]
        if preset is None and column == "model" and isinstance(name, (str, os.PathLike)):
            with contextlib.suppress(UnknownName):
                preset = find_preset(column, name)
        if preset is None:
            near = unknown(f"{column} preset", name, [*named_presets, *catalog])
            where = _place(table, list(table[column]).index(name))
            hint = f"({column}s={{name: preset}} takes those that the catalog does not have)"
            raise UnknownName(f"{where}: {near} {hint}")
        if not isinstance(preset, Preset) or preset.kind != column:
            raise PresetError(f"{column}: {name!r} is no preset for {column}=, but {shown(preset)}")
        preset_of[name] = preset
    return [preset_of[name] for name in table[column]]


def _distinct(table: pd.DataFrame, column: str, expected: str) -> list[Any]:
    """The distinct values of a column of texts and presets, in their order."""
    for k, x in enumerate(table[column]):
        if not isinstance(x, (str, Preset)):
            raise InputTypeError(f"{column}: expected {expected}, got {shown(x)} in {_place(table, k)}")
    return list(dict.fromkeys(table[column]))


def _numbers(table: pd.DataFrame, column: str) -> Any:
    import pandas as pd

    dtype = table[column].dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        first = next((k for k, x in enumerate(table[column]) if not _is_number(x)), None)
        where = "" if first is None else f", the first {shown(table[column].iloc[first])} in {_place(table, first)}"
        raise InputTypeError(f"{column}: expected numbers, got a column of {dtype}{where}")
    return table[column].to_numpy(dtype=np.float64, na_value=np.nan)


def _is_number(x: Any) -> bool:
    try:
        float(x)
    except (TypeError, ValueError):
        return False
    return True


def _place(table: pd.DataFrame, row: int) -> str:
    """Return the position of a row for messages, as a line if `read_csv` knows it."""
    return f"line {table.index[row]}" if table.index.name == _LINE else f"row {row + 1}"


def _words(table: pd.DataFrame, column: str, known: Collection[str]) -> list[str]:
    for word in _distinct(table, column, f"one of {', '.join(map(repr, known))}"):
        if word not in known:
            raise UnknownName(f"{_place(table, list(table[column]).index(word))}: {unknown(column, word, known)}")
    return list(table[column])


@dataclass(frozen=True)
class Table:
    """A table of measured runs in the package, with the settings of its fits.

    Attributes
    ----------
    name : str
    runs : Runs
    calibration : str
        Name of the calibration that predicts it.
    source : str
    settings : dict
        Inputs that are the same for all rows.
    base : str
        The calibration whose constants are taken where none is fitted; empty for none.
    hold_out : tuple of str
        What the fit leaves out in turn.
    stack : tuple of str
        In what the rows of one stack are alike.
    fits : dict of dict
        By measured column: `terms` with their ranges, and the input that is its `anchor`.
    bounds : tuple of dict
        The errors that the package promises.
    """

    name: str
    runs: Runs
    calibration: str
    source: str
    settings: Mapping[str, Any]
    base: str
    hold_out: tuple[str, ...]
    stack: tuple[str, ...]
    fits: Mapping[str, Mapping[str, Any]]
    bounds: tuple[Mapping[str, Any], ...]


@functools.cache
def shipped() -> tuple[Table, ...]:
    """The tables of measured runs that come with the package.

    Returns
    -------
    tuple of Table
    """
    import pandas as pd

    content = read_data(_FOLDER / "tables.toml")
    tables = []
    for entry in content["table"]:
        runs = read(pd.read_csv(_FOLDER / entry["file"]), fixed=entry["settings"])
        tables.append(
            Table(
                entry["name"],
                runs,
                entry["calibration"],
                entry["source"],
                entry["settings"],
                entry.get("base", ""),
                tuple(entry["hold_out"]),
                tuple(entry.get("stack", ())),
                entry["fits"],
                tuple(entry["bounds"]),
            )
        )
    return tuple(tables)


@functools.cache
def _published_entries() -> tuple[Mapping[str, Any], ...]:
    return tuple(read_data(_FOLDER / "published.toml")["entry"])


def published() -> pd.DataFrame:
    """Compare published closed-form numbers with ours.

    Returns
    -------
    pandas.DataFrame
        Columns `table`, `question`, `published`, `ours`, `unit`, `error` and `tolerance` (relative), `verdict` ("holds"
        or "fails"), `quantity`, `inputs`, `source`.
    """
    import pandas as pd

    rows = []
    for entry in _published_entries():
        ours = compute(entry)
        tolerance = entry.get("tolerance", TOLERANCE)
        error = ours / entry["published"] - 1
        rows.append(
            {
                "table": entry["table"],
                "question": entry["question"],
                "published": float(entry["published"]),
                "ours": ours,
                "unit": entry["unit"],
                "error": error,
                "tolerance": tolerance,
                "verdict": "holds" if abs(error) <= tolerance else "fails",
                "quantity": entry["quantity"],
                "inputs": dict(entry["inputs"]),
                "source": entry["source"],
            }
        )
    return pd.DataFrame(rows)


@functools.cache
def _none_published() -> pd.DataFrame:
    return published().iloc[:0]


def none_published() -> pd.DataFrame:
    """The columns of `published` without a row."""
    return _none_published().copy()
