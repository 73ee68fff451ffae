"""Tables of any kind: their columns as inputs, and results as a table of the same kind."""

from __future__ import annotations

import abc
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roofslate._base.messages import pip_install, shown
from roofslate.errors import AxisError, InputTypeError
from roofslate.grid.arrow_columns import read_array
from roofslate.grid.columns import Column, Names, check_column, column_of, priced_by_day, read_columns
from roofslate.presets.lookup import PRICED
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from roofslate.registry.values import Values

__all__ = ["KINDS", "Coded", "Results", "Table", "read_table"]

KINDS = (
    "a pandas.DataFrame, a polars DataFrame or LazyFrame, a pyarrow.Table, a DuckDB relation, a list of dicts or a "
    "dict of columns"
)
_MOST_COLUMNS = 10_000  # each is read by itself
_BATCH = 1 << 17  # rows that DuckDB hands out at a time: larger arrays cost page faults
_SHOWN = 3  # columns of unequal lengths in a message


class Coded(NamedTuple):
    """Results that are choices: the position of each row's word, -1 for none."""

    codes: npt.NDArray[np.signedinteger[Any]]
    words: Sequence[str]

    def texts(self) -> list[str | None]:
        """The word of each row."""
        words = [*self.words, None]
        return [words[code] for code in self.codes.tolist()]


Results = Mapping[str, "Values | Coded"]
Attributes = Mapping[str, Any]  # texts by key, or by key and column


class Table(abc.ABC):
    """A table of scenarios, as its own library holds it.

    Attributes
    ----------
    native : object
        The table itself.
    names : list of str
        Its columns, in order.
    rows : int
    """

    native: Any
    names: list[str]
    rows: int

    @abc.abstractmethod
    def columns(self, ignored: Collection[str], inputs: dict[str, Any]) -> dict[str, Column | Names]:
        """The columns that are inputs. Removes a day of prices from `inputs`."""

    @abc.abstractmethod
    def pandas(self) -> pd.DataFrame:
        """The table as a DataFrame."""

    @abc.abstractmethod
    def arrow(self) -> pa.Table:
        """The table as a pyarrow.Table."""

    @abc.abstractmethod
    def results(self, outcome: Results, attrs: Attributes) -> Any:
        """Results as a table of the same kind."""

    @abc.abstractmethod
    def beside(self, outcome: Results, attrs: Attributes, renamed: Mapping[str, str] | None = None) -> Any:
        """Return the table with renamed columns, and results added."""


def read_table(table: Any, argument: str = "table", unused: Collection[str] = ()) -> Table:
    """A table of any kind, without unused columns if it is lazy. Others are an error."""
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return _Frame(table)
    if isinstance(table, Mapping):
        return _Columns(table, argument)
    if isinstance(table, (list, tuple)):
        return _Records(table, argument)
    library = (type(table).__module__ or "").partition(".")[0].lstrip("_")
    if library in ("polars", "pyarrow", "duckdb") or hasattr(table, "__arrow_c_stream__"):
        return _Arrow(table, argument, unused)
    raise InputTypeError(f"{argument}: expected {KINDS}, got {shown(table)}")


class _Frame(Table):
    """A pandas.DataFrame."""

    def __init__(self, table: pd.DataFrame) -> None:
        self.native = self.table = table
        self.names, self.rows = table.columns.tolist(), len(table)

    def columns(self, ignored: Collection[str], inputs: dict[str, Any]) -> dict[str, Column | Names]:
        return read_columns(priced_by_day(self.table, ignored, inputs), ignored, inputs)

    def pandas(self) -> pd.DataFrame:
        return self.table

    def arrow(self) -> pa.Table:
        _, pa = _libraries()
        try:
            return pa.Table.from_pandas(self.table, preserve_index=False)
        except (pa.ArrowException, NotImplementedError) as error:
            raise InputTypeError(f"a column has no type of Arrow: {error}") from None

    def results(self, outcome: Results, attrs: Attributes) -> pd.DataFrame:
        return _data_frame(outcome, attrs, self.table.index)

    def beside(self, outcome: Results, attrs: Attributes, renamed: Mapping[str, str] | None = None) -> pd.DataFrame:
        import pandas as pd

        table = self.table.rename(columns=renamed) if renamed else self.table
        built = pd.concat([table, self.results(outcome, {})], axis=1)
        built.attrs = dict(self.table.attrs)
        built.attrs.update(attrs)
        return built


def _data_frame(outcome: Results, attrs: Attributes, index: pd.Index | None) -> pd.DataFrame:
    import pandas as pd

    columns: dict[str, Any] = {
        name: pd.Categorical.from_codes(x.codes, categories=pd.Index(x.words)) if isinstance(x, Coded) else x
        for name, x in outcome.items()
    }
    if len(columns) == 1 and isinstance(only := next(iter(columns.values())), np.ndarray):
        built = pd.DataFrame(only[:, np.newaxis], index=index, columns=_header(*columns).view(), copy=False)
    else:
        built = pd.DataFrame(columns, index=index, copy=False)
    built.attrs.update(attrs)
    return built


_headers: dict[str, pd.Index] = {}


def _header(name: str) -> pd.Index:
    """Format a one-column header, as pandas takes longer than the engine for a small table."""
    import pandas as pd

    if name not in _headers:
        if len(_headers) >= 64:
            _headers.clear()
        _headers[name] = pd.Index([name])
    return _headers[name]


class _Columns(_Frame):
    """A dict of columns, all lists or arrays. Lists give lists."""

    def __init__(self, table: Mapping[Any, Any], argument: str) -> None:
        import pandas as pd

        lengths: dict[str, int] = {}
        for name, column in table.items():
            if not isinstance(name, str):
                raise InputTypeError(f"{argument}: expected names of columns, got {shown(name)}")
            if isinstance(column, (str, bytes, Mapping)) or not hasattr(column, "__len__"):
                raise InputTypeError(
                    f"{argument}: column {name!r}: expected a list or an array, got {shown(column)}; "
                    "a value of all rows is a keyword"
                )
            if np.ndim(column) != 1:
                raise InputTypeError(f"{argument}: column {name!r}: expected one dimension, got {np.ndim(column)}")
            lengths[name] = len(column)
        if len(set(lengths.values())) > 1:
            notes = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:_SHOWN])
            raise InputTypeError(f"{argument}: its columns have different lengths: {notes}")
        self._as_lists = all(isinstance(column, (list, tuple)) for column in table.values())
        super().__init__(pd.DataFrame({name: _plain(column) for name, column in table.items()}))
        self.native = table

    def results(self, outcome: Results, attrs: Attributes) -> Any:  # noqa: ARG002  # no place for attributes
        words = {name: x.texts() for name, x in outcome.items() if isinstance(x, Coded)}
        if self._as_lists:
            return {name: words[name] if isinstance(x, Coded) else x.tolist() for name, x in outcome.items()}
        return {name: np.array(words[name], dtype=object) if isinstance(x, Coded) else x for name, x in outcome.items()}

    def beside(self, outcome: Results, attrs: Attributes, renamed: Mapping[str, str] | None = None) -> Any:
        mine = {(renamed or {}).get(name, name): column for name, column in self.native.items()}
        return mine | self.results(outcome, attrs)


class _Records(_Frame):
    """A list of dicts, one a row. A key that a row lacks is a missing value."""

    def __init__(self, table: Sequence[Any], argument: str) -> None:
        import pandas as pd

        names: dict[str, None] = {}
        for position, row in enumerate(table):
            if not isinstance(row, Mapping):
                raise InputTypeError(f"{argument}: row {position}: expected a dict, got {shown(row)}")
            names.update(dict.fromkeys(row))
            if len(names) > _MOST_COLUMNS:
                raise InputTypeError(f"{argument}: rows have more than {_MOST_COLUMNS:,} different keys")
        for name in names:
            if not isinstance(name, str):
                raise InputTypeError(f"{argument}: expected names of columns, got {shown(name)}")
        # by column: pandas guesses types of rows from the first ones
        super().__init__(
            pd.DataFrame({name: _plain([row.get(name) for row in table]) for name in names}, index=range(len(table)))
        )
        self.native = table

    def results(self, outcome: Results, attrs: Attributes) -> Any:  # noqa: ARG002  # no place for attributes
        columns = [x.texts() if isinstance(x, Coded) else x.tolist() for x in outcome.values()]
        return [dict(zip(outcome, row, strict=True)) for row in zip(*columns, strict=True)]

    def beside(self, outcome: Results, attrs: Attributes, renamed: Mapping[str, str] | None = None) -> Any:
        mine = [{(renamed or {}).get(name, name): x for name, x in row.items()} for row in self.native]
        return [row | more for row, more in zip(mine, self.results(outcome, attrs), strict=True)]


def _plain(column: Any) -> Any:
    """A column that pandas takes as it is: presets are mappings, which it would take apart."""
    if isinstance(column, (list, tuple)) and any(isinstance(x, Mapping) for x in column):
        built = np.empty(len(column), dtype=object)
        built[:] = column
        return built
    return column


class _Arrow(Table):
    """A table of polars, pyarrow or DuckDB, or another one that hands out Arrow's data."""

    def __init__(self, table: Any, argument: str, unused: Collection[str] = ()) -> None:
        self.native, self._argument = table, argument
        nw, _ = _libraries()
        try:
            self._table = nw.from_native(table)
        except nw.exceptions.DuplicateError:
            raise AxisError("the table has two columns of the same name") from None
        except TypeError:
            self._table = self._streamed(table)
        self._lazy = isinstance(self._table, nw.LazyFrame)
        if self._lazy:
            kind = str(self._table.implementation)
            if not (self._table.implementation.is_polars() or self._table.implementation.is_duckdb()):
                raise InputTypeError(f"{argument}: a lazy table of {kind} has no rows yet: collect it first")
            self.names = [str(name) for name in self._table.collect_schema().names()]
        else:
            self.names = [str(name) for name in self._table.columns]
        if len(self.names) > _MOST_COLUMNS:
            raise InputTypeError(f"{argument}: a table has at most {_MOST_COLUMNS:,} columns, got {len(self.names):,}")
        if len(set(self.names)) < len(self.names):
            raise AxisError("the table has two columns of the same name")
        if self._lazy:
            self._table = self._collected([name for name in self.names if name not in unused] or self.names)
        self.rows = len(self._table)

    def _streamed(self, table: Any) -> Any:
        nw, pa = _libraries()
        try:
            self.native = pa.RecordBatchReader.from_stream(table).read_all()
        except (TypeError, ValueError, pa.ArrowException):  # of a single column
            raise InputTypeError(f"{self._argument}: expected {KINDS}, got {shown(table)}") from None
        return nw.from_native(self.native)

    def _collected(self, names: list[str]) -> Any:
        """Some columns of a lazy table, computed once."""
        nw, _ = _libraries()
        if self._table.implementation.is_polars():
            return self._table.select(names).collect()
        relation = self.native
        if len(names) < len(self.names):
            relation = relation.project(", ".join(map(_quoted, names)))
        return nw.from_native(relation.to_arrow_table(batch_size=_BATCH))

    def columns(self, ignored: Collection[str], inputs: dict[str, Any]) -> dict[str, Column | Names]:
        names = [name for name in self.names if name not in ignored]
        priced = {}
        if DAY in names or inputs.get(DAY) is not None:
            table = self._arrow([name for name in names if name in PRICED or name == DAY]).to_pandas()
            priced = read_columns(priced_by_day(table, ignored, inputs), ignored, inputs)
        inputs.pop(DAY, None)
        for name in names:
            check_column(name, () if name in priced else inputs)
        remaining = [name for name in names if name not in priced and name != DAY]
        arrays = self._arrow(remaining)
        outcome: dict[str, Column | Names] = {}
        for name in remaining:
            read = read_array(name, arrays.column(name))
            outcome[name] = read if isinstance(read, Column) else _of_words(name, *read)
        order = dict.fromkeys([*(name for name in names if name in outcome or name in priced), *priced])
        return {name: priced[name] if name in priced else outcome[name] for name in order}

    def _arrow(self, names: Sequence[str]) -> Any:
        """Some columns as a pyarrow.Table."""
        _, pa = _libraries()
        if not names:
            return pa.table({})
        try:
            return self._table.select(list(names)).to_arrow()
        except (pa.ArrowException, NotImplementedError) as error:
            raise InputTypeError(f"{self._argument}: {error}") from None

    def pandas(self) -> pd.DataFrame:
        built: pd.DataFrame = self._arrow(self.names).to_pandas()
        return built

    def arrow(self) -> pa.Table:
        return self._arrow(self.names)

    def results(self, outcome: Results, attrs: Attributes) -> Any:
        _, pa = _libraries()
        fields, arrays = [], []
        for name, x in outcome.items():
            arrays.append(_array(x))
            said = {key: texts[name] for key, texts in attrs.items() if isinstance(texts, Mapping) and name in texts}
            fields.append(pa.field(name, arrays[-1].type, metadata=said or None))
        metadata = {"roofslate": json.dumps(dict(attrs))} if attrs else None
        return self._in_kind(pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=metadata)))

    def _in_kind(self, built: Any) -> Any:
        nw, pa = _libraries()
        if isinstance(self.native, pa.Table):
            return built
        if type(self.native).__module__.lstrip("_").startswith("duckdb"):
            roofslate_results = built  # noqa: F841  # DuckDB finds it by its name
            return self.native.query("roofslate_source", "from roofslate_results")
        native = nw.from_arrow(built, backend=self._table.implementation)
        return (native.lazy() if self._lazy else native).to_native()

    def _with_types(self, built: Any) -> Any:
        """A relation with the types that its first columns had before Arrow, which knows fewer."""
        types = [*self.native.types, *built.types[len(self.native.types) :]]
        columns = [
            _quoted(name) if new == old else f"cast({_quoted(name)} as {old}) as {_quoted(name)}"
            for name, new, old in zip(built.columns, built.types, types, strict=True)
        ]
        return built.project(", ".join(columns))

    def beside(self, outcome: Results, attrs: Attributes, renamed: Mapping[str, str] | None = None) -> Any:  # noqa: ARG002
        nw, pa = _libraries()
        table = self._table.rename({old: new for old, new in (renamed or {}).items() if old in self.names})
        if table.implementation.is_pyarrow():
            built = table.to_native()
            for name, x in outcome.items():
                built = built.append_column(pa.field(name, (array := _array(x)).type), array)
            return built if isinstance(self.native, pa.Table) else self._with_types(self._in_kind(built))
        results = nw.from_arrow(
            pa.table({name: _array(x) for name, x in outcome.items()}), backend=table.implementation
        )
        joined = nw.concat([table, results], how="horizontal")
        return (joined.lazy() if self._lazy else joined).to_native()


def _quoted(name: str) -> str:
    """A name of SQL."""
    return '"' + name.replace('"', '""') + '"'


def _of_words(name: str, codes: Any, words: list[Any]) -> Column | Names:
    """A column by distinct values, without those that are missing."""
    if None in words:
        known = [word for word in words if word is not None]
        places = np.array([known.index(word) if word is not None else -1 for word in words] or [-1])
        codes = np.where(codes < 0, -1, places[codes])
        words = known
    return column_of(name, codes, words)


def _array(x: Values | Coded) -> Any:
    """Results as Arrow holds them: NaN is null, a choice is a dictionary."""
    _, pa = _libraries()
    if isinstance(x, Coded):
        codes = pa.array(x.codes, mask=x.codes < 0) if len(x.codes) and x.codes.min() < 0 else pa.array(x.codes)
        return pa.DictionaryArray.from_arrays(codes, pa.array(list(x.words)))
    return pa.array(x, from_pandas=True) if len(x) and np.isnan(x.min()) else pa.array(x)


def _libraries() -> tuple[Any, Any]:
    """Narwhals and pyarrow, or an error that says where they come from."""
    try:
        import narwhals.stable.v2 as nw
        import pyarrow as pa
    except ModuleNotFoundError as error:
        message = f"this table needs {error.name}, which is not installed: {pip_install('io')}"
        raise ModuleNotFoundError(message, name=error.name) from None
    return nw, pa
