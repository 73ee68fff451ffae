"""`rs.save` and `rs.load`: results in NetCDF, Zarr and Parquet with their attributes."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate._base.files import whole_file
from roofslate._base.messages import pip_install, shown, unknown
from roofslate.errors import InputTypeError, OutOfMemory

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["load", "save"]

_ARRAY = "roofslate_array"  # an attribute of a file of one array: its name
_KEY = b"roofslate"  # of the metadata of a Parquet file
_LARGEST_HEADER = 16_000_000  # bytes of metadata
_MOST_ARRAYS = 10_000
_FLAGS = "flag_values"
# Codecs of Zarr arrays. Others might run code when they are read.
_CODECS = {"blosc", "bytes", "crc32c", "gzip", "sharding_indexed", "transpose", "vlen-utf8", "zstd"}


def save(result: xr.DataArray | xr.Dataset, path: str | os.PathLike[str], /, *, overwrite: bool = False) -> None:
    """Write a result with its axes, units, basis, support and provenance.

    Parameters
    ----------
    result : xarray.DataArray or xarray.Dataset
        From `evaluate`, a fold or any other call that returns one.
    path : path
        The ending decides: ``.nc`` (NetCDF), ``.zarr`` (a folder) or ``.parquet`` (a table with a row for each point,
        words of choices, and units in the metadata of its columns).
    overwrite : bool
        Replace a file that exists.

    Raises
    ------
    InputTypeError
        For anything else than a result, another ending, or an attribute of another type.
    OSError
        Where the file can't be written, or exists and `overwrite` is not asked for.
    ModuleNotFoundError
        Without the packages that ``pip install 'roofslate[files]'`` brings.

    Examples
    --------
    >>> import roofslate as rs
    >>> t = rs.evaluate("hbm_drain_time", hardware=["H100", "H200"])
    >>> rs.save(t, "drain.parquet")
    >>> rs.load("drain.parquet").identical(t)
    True
    """
    import xarray as xr

    if not isinstance(result, (xr.DataArray, xr.Dataset)):
        raise InputTypeError(f"rs.save takes a DataArray or a Dataset, got {shown(result)}")
    target = _path(path)
    write = _by_suffix(target, {".nc": _write_netcdf, ".zarr": _write_zarr, ".parquet": _write_parquet})
    if isinstance(result, xr.DataArray):
        name = str(result.name or "result")
        dataset = result.to_dataset(name=name).assign_attrs({_ARRAY: str(result.name or "")})
    else:
        dataset = result
    _check_attributes(dataset)
    if target.suffix.lower() != ".zarr":
        with _packages(target), whole_file(target, overwrite=overwrite) as stream:
            write(dataset, stream)
        return
    if target.exists() and not overwrite:
        raise FileExistsError(17, "exists already, and overwrite was not asked for", str(target))
    with _packages(target):
        write(dataset, target)


def load(path: str | os.PathLike[str], /) -> xr.DataArray | xr.Dataset:
    """Read a result that `save` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As it was saved.

    Raises
    ------
    InputTypeError
        For a broken file, or one without such a result.
    OutOfMemory
        Where its arrays are larger than the memory, before they are read.
    OSError
        Where there is no such file.
    ModuleNotFoundError
        Without the packages that ``pip install 'roofslate[files]'`` brings.
    """
    source = _path(path)
    read = _by_suffix(source, {".nc": _read_netcdf, ".zarr": _read_zarr, ".parquet": _read_parquet})
    if not source.exists():
        raise FileNotFoundError(2, "there is no such file", str(source))
    with _packages(source):
        dataset: xr.Dataset = read(source)
    if _ARRAY not in dataset.attrs:
        return dataset
    name = dataset.attrs.pop(_ARRAY)
    if (name or "result") not in dataset.data_vars:
        raise InputTypeError(f"{source} has no array {name!r}, although its attributes name it")
    return dataset[name or "result"].rename(name or None)


def _path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(f"path: expected the name of a file, got {shown(path)}")
    return Path(os.fsdecode(path))


def _by_suffix(path: Path, known: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    outcome = known.get(path.suffix.lower())
    if outcome is None:
        raise InputTypeError(f"{path}: the name of a file of results ends in {', '.join(known)}")
    return outcome


@contextlib.contextmanager
def _packages(path: Path) -> Iterator[None]:
    """Say where a package comes from that is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        message = f"{path.suffix} needs {error.name}, which is not installed: {pip_install('files')}"
        raise ModuleNotFoundError(message, name=error.name) from None


def _check_attributes(dataset: xr.Dataset) -> None:
    """Refuse attributes that some format cannot store."""
    for owner, attrs in [("the dataset", dataset.attrs), *((repr(n), v.attrs) for n, v in dataset.variables.items())]:
        for key, x in attrs.items():
            if not isinstance(key, str) or not isinstance(x, (str, int, float, np.ndarray, np.generic)):
                raise InputTypeError(f"attribute {shown(key)} of {owner}: expected a text or a number, got {shown(x)}")


# --------------------------------------------------------------------------------------------------------------- NetCDF


def _write_netcdf(dataset: xr.Dataset, stream: Any) -> None:
    import h5netcdf  # noqa: F401  # or xarray would write another format
    import h5py  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "result.nc"
        dataset.to_netcdf(built, engine="h5netcdf")
        with built.open("rb") as source:
            shutil.copyfileobj(source, stream, 1 << 20)


def _read_netcdf(path: Path) -> xr.Dataset:
    import h5netcdf  # noqa: F401
    import h5py  # noqa: F401
    import xarray as xr

    with _readable(path):  # seconds stay numbers, and no xarray makes them spans of time
        options: dict[str, Any] = {"decode_times": False, "decode_timedelta": False, "phony_dims": "access"}
        with xr.open_dataset(path, engine="h5netcdf", **options) as opened:
            _check_size(path, opened)
            return _plain(opened.load())


# ----------------------------------------------------------------------------------------------------------------- Zarr


def _write_zarr(dataset: xr.Dataset, target: Path) -> None:
    import zarr  # noqa: F401

    if not target.parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(target))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}-", suffix=".partial") as folder:
        built, old = Path(folder) / "new", Path(folder) / "old"
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*does not have a Zarr V3 specification")
            dataset.to_zarr(built, mode="w-", consolidated=False, zarr_format=3)
        if target.exists():
            target.rename(old)
        built.rename(target)


def _read_zarr(path: Path) -> xr.Dataset:
    import xarray as xr
    import zarr  # noqa: F401

    if not path.is_dir():
        raise InputTypeError(f"{path} cannot be read: it is not a folder")
    _check_codecs(path)
    with _readable(path), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not have a Zarr V3 specification")
        options: dict[str, Any] = {"consolidated": False, "zarr_format": 3, "chunks": None}
        with xr.open_zarr(path, decode_times=False, decode_timedelta=False, **options) as opened:
            _check_size(path, opened)
            return _plain(opened.load())


def _check_codecs(path: Path) -> None:
    """Refuse a folder of another format, too many arrays, or unknown codecs."""
    headers = []
    for folder, _, files in os.walk(path):
        if "zarr.json" in files:
            headers.append(Path(folder) / "zarr.json")
        if len(headers) > _MOST_ARRAYS:
            raise InputTypeError(f"{path} has more than {_MOST_ARRAYS:,} arrays")
    if path / "zarr.json" not in headers:
        raise InputTypeError(f"{path} cannot be read: it has no zarr.json of format 3")
    for header in headers:
        content = _object(header, header.read_bytes()[: _LARGEST_HEADER + 1])
        for codec in _codecs_of(content):
            if codec not in _CODECS:
                raise unknown(f"codec in {header}", codec, _CODECS)


def _codecs_of(content: Any) -> Iterator[Any]:
    """Names of the codecs of an array, of those inside a shard too."""
    if isinstance(content, Mapping):
        for key, x in content.items():
            if key in ("codecs", "index_codecs") and isinstance(x, list):
                yield from (codec.get("name") if isinstance(codec, Mapping) else codec for codec in x)
            yield from _codecs_of(x)
    elif isinstance(content, list):
        for x in content:
            yield from _codecs_of(x)


def _object(path: Path, raw: bytes) -> Mapping[str, Any]:
    """An object of JSON."""
    if len(raw) > _LARGEST_HEADER:
        raise InputTypeError(f"{path}: its metadata has more than {_LARGEST_HEADER:,} bytes")
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputTypeError(f"{path} cannot be read: {shown(str(error))}") from None
    if not isinstance(content, Mapping):
        raise InputTypeError(f"{path} cannot be read: expected an object, got {shown(content)}")
    return content


# -------------------------------------------------------------------------------------------------------------- Parquet


def _write_parquet(dataset: xr.Dataset, stream: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    dims = {str(dim): int(size) for dim, size in dataset.sizes.items()}
    fields, arrays = [], []
    described: dict[str, dict[str, Any]] = {}
    for name in [*dataset.coords, *dataset.data_vars]:  # as people read tables
        v = dataset[name].variable
        order = [dim for dim in dims if dim in v.dims]
        shape = [dims[dim] if dim in v.dims else 1 for dim in dims]
        values = np.broadcast_to(v.transpose(*order).values.reshape(shape), tuple(dims.values())).ravel()
        attrs = {key: _jsonable(x) for key, x in v.attrs.items()}
        array, kind = _column(str(name), values, v.attrs)
        notes = {key: x for key, x in attrs.items() if isinstance(x, str)}
        fields.append(pa.field(str(name), array.type, metadata=notes or None))
        arrays.append(array)
        coordinate = name in dataset.coords
        described[str(name)] = {"dims": list(v.dims), "coordinate": coordinate, "dtype": kind, "attrs": attrs}
    about = {"dims": dims, "variables": described, "attrs": {k: _jsonable(x) for k, x in dataset.attrs.items()}}
    units = {name: x["attrs"]["units"] for name, x in described.items() if "units" in x["attrs"]}
    metadata = {_KEY: json.dumps(about).encode(), b"PANDAS_ATTRS": json.dumps({"units": units}).encode()}
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata)), stream)


def _column(name: str, values: Any, attrs: Mapping[str, Any]) -> tuple[Any, str]:
    """Values as a column, and their dtype. A choice is a column of words."""
    import pyarrow as pa

    if values.dtype.kind in "OUT":
        texts = values.tolist()
        if not all(isinstance(x, str) for x in texts):
            raise InputTypeError(f"{name}: a file holds numbers and texts, got {shown(texts[0])}")
        return pa.array(texts, pa.string()).dictionary_encode(), "object"
    words = str(attrs.get("flag_meanings", "")).split()
    if words and values.dtype == np.int8 and values.size and values.min() >= 0 and values.max() < len(words):
        return pa.DictionaryArray.from_arrays(pa.array(values), pa.array(words)), "int8"
    if values.dtype.kind not in "fiub" or values.dtype.itemsize > 8:
        raise InputTypeError(f"{name}: a file holds numbers and texts, got {values.dtype}")
    return pa.array(np.ascontiguousarray(values)), values.dtype.name


def _jsonable(x: Any) -> Any:
    return x.tolist() if isinstance(x, (np.ndarray, np.generic)) else x


def _read_parquet(path: Path) -> xr.Dataset:
    import pyarrow.parquet as pq
    import xarray as xr

    if not path.is_file():
        raise InputTypeError(f"{path} cannot be read: it is not a file")
    with _readable(path):
        file = pq.ParquetFile(path)
        metadata = file.schema_arrow.metadata or {}
        if _KEY not in metadata:
            raise InputTypeError(f"{path} holds no result that rs.save wrote; for a table of scenarios see rs.sweep")
        about = _object(path, metadata[_KEY])
        try:
            dims = {str(dim): int(size) for dim, size in about["dims"].items()}
            described = {str(name): dict(x) for name, x in about["variables"].items()}
            shapes = {name: [dims[dim] for dim in x["dims"]] for name, x in described.items()}
            dtypes = {name: np.dtype(x["dtype"]) for name, x in described.items()}
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputTypeError(
                f"{path} cannot be read: its metadata is no description of a result: {error}"
            ) from None
        if math.prod(dims.values()) != file.metadata.num_rows or set(file.schema_arrow.names) != described.keys():
            raise InputTypeError(f"{path} cannot be read: its table differs from its metadata")
        _check_bytes(path, 8 * file.metadata.num_rows * max(len(described), 1))
        variables, coordinates = {}, []
        for name, x in described.items():
            column = file.read([name]).column(0).combine_chunks()
            values = _values(column, dtypes[name], bool(x["attrs"].get("flag_meanings")))
            grid = values.reshape(tuple(dims.values()))
            used = grid[tuple(slice(None) if dim in x["dims"] else 0 for dim in dims)]
            order = [dim for dim in dims if dim in x["dims"]]
            used = np.transpose(used, [order.index(dim) for dim in x["dims"]]) if len(order) > 1 else used
            variables[name] = xr.Variable(x["dims"], np.array(used).reshape(shapes[name]), x["attrs"])
            if x["coordinate"]:
                coordinates.append(name)
        built = xr.Dataset({n: v for n, v in variables.items() if n not in coordinates}, attrs=about.get("attrs", {}))
        return _plain(built.assign_coords({name: variables[name] for name in coordinates}))


def _values(column: Any, dtype: np.dtype[Any], flagged: bool) -> Any:
    """Values of a column in the dtype that they had."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        if flagged and dtype == np.int8:
            return column.indices.to_numpy(zero_copy_only=False).astype(np.int8)
        return np.array(column.to_pylist(), dtype=object)
    return column.to_numpy(zero_copy_only=False).astype(dtype, copy=False)


# --------------------------------------------------------------------------------------------------------------- common


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Name the file where a library finds it broken."""
    try:
        yield
    except (ModuleNotFoundError, MemoryError, InputTypeError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # of h5py, zarr, pyarrow or xarray: each has its own
        words = " ".join(str(error).split())
        raise InputTypeError(f"{path} cannot be read: {shown(words)}") from None


def _check_size(path: Path, dataset: xr.Dataset) -> None:
    if len(dataset.variables) > _MOST_ARRAYS:
        raise InputTypeError(f"{path} has more than {_MOST_ARRAYS:,} arrays")
    _check_bytes(path, sum(v.size * max(v.dtype.itemsize, 8) for v in dataset.variables.values()))


def _check_bytes(path: Path, size: int) -> None:
    """Refuse arrays larger than the memory, which a small file may claim."""
    if size > _core.available_memory():
        raise OutOfMemory(f"{path} holds {size:,} bytes of arrays, more than there is memory")


def _plain(dataset: xr.Dataset) -> xr.Dataset:
    """Restore texts as objects and flags as small numbers, without encodings."""
    built = dataset.drop_encoding()
    texts = {name: built[name].astype(object) for name, v in built.variables.items() if v.dtype.kind in "UT"}
    coordinates = {name: v for name, v in texts.items() if name in built.coords}
    built = built.assign_coords(coordinates).assign({n: v for n, v in texts.items() if n not in coordinates})
    for v in built.variables.values():
        if _FLAGS in v.attrs:
            v.attrs[_FLAGS] = np.asarray(v.attrs[_FLAGS], dtype=v.dtype)
    for key, x in built.attrs.items():
        built.attrs[key] = x.item() if isinstance(x, np.generic) else x
    return built
