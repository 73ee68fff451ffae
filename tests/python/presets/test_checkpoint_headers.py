"""Untrusted headers: clear errors in bounded time and memory."""

import json
import os
import re
import struct
import time
import tracemalloc

import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.presets.checkpoints.gguf import read_gguf
from roofslate.presets.checkpoints.safetensors import read_safetensors
from support import checkpoints
from support.configs import PLAIN

SECONDS, MEMORY = 6.0, 400 * 2**20  # of the worst header within the limits


def refused(read, path, message, *, measured=False):
    """Expect an error in bounded time, and in bounded memory if `measured`."""
    start = time.perf_counter()
    with pytest.raises(errors.PresetError, match=message) as caught:
        read(path)
    assert time.perf_counter() - start < SECONDS
    if measured:
        tracemalloc.start()
        with pytest.raises(errors.PresetError):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < MEMORY
        tracemalloc.stop()
    assert path.name in str(caught.value)
    assert len(str(caught.value)) < 1000


# ------------------------------------------------------------------------------------------------------- safetensors


def safetensors_file(tmp_path, header, data=0, length=None):
    """A file with this header, an object or bytes, a said length and so many bytes behind."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path = tmp_path / "x.safetensors"
    with path.open("wb") as file:
        file.write((len(text) if length is None else length).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + data)
    return path


def entry(shape=(2, 3), dtype="F32", start=0, end=24, **keys):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end], **keys}


@pytest.mark.parametrize(
    ("header", "data", "length", "message"),
    [
        (b"{}", 0, 2**30, r"its header has 1,073,741,824 bytes, at most 33,554,432 are read; it is damaged"),
        (b"{}", 0, 2**63, r"its header has 9,223,372,036,854,775,808 bytes"),
        (b"{}", 0, 1000, r"its header has 1,000 bytes, the file 10: it is incomplete"),
        (b"", 0, 0, r"no safetensors file: it begins with"),
        (b"[1, 2]  ", 0, None, r"its header begins with b'\[1, 2\]  ', not with an object"),
        (b'{"x": ', 0, None, r"line 1: Expecting value"),
        (b'{"x": \xff}', 0, None, r"is no UTF-8"),
        ({"x": 5}, 0, None, r"'x' needs dtype, shape and data_offsets, got 5"),
        ({"x": entry(dtype="F33")}, 24, None, r"unknown dtype of 'x' 'F33'; did you mean 'F32'"),
        ({"x": entry(shape=(2, -3))}, 24, None, r"the shape of 'x' should list whole numbers, got \[2, -3\]"),
        ({"x": entry(shape=(2, 2.5))}, 24, None, r"the shape of 'x' should list whole numbers"),
        ({"x": entry(shape=(True, 6))}, 24, None, r"the shape of 'x' should list whole numbers"),
        ({"x": entry(shape=[1] * 99)}, 24, None, r"the shape of 'x' should list whole numbers"),
        ({"x": entry(shape=(2**60, 2**60))}, 24, None, r"'x' has more than 1,125,899,906,842,624 elements"),
        ({"x": entry(start=-24, end=0)}, 24, None, r"data_offsets of 'x' should be a start and an end, got \[-24, 0\]"),
        ({"x": entry(start=24, end=0)}, 24, None, r"data_offsets of 'x' should be a start and an end"),
        ({"x": entry(end=25)}, 25, None, r"'x' of F32 and shape \[2, 3\] has 24 bytes, its offsets say 25"),
        ({"x": entry(), "y": entry(start=12, end=36)}, 36, None, r"the tensors 'x' and 'y' overlap"),
        ({"x": entry()}, 8, None, r"its header describes 24 bytes of tensors, the file has 8: it is incomplete"),
        ({"x": entry()}, 99, None, r"its tensors have 24 bytes, the file holds 99 behind its header"),
        ({"x": entry(), "y": entry(start=30, end=54)}, 54, None, r"its tensors have 48 bytes, the file holds 54"),
        ({"__metadata__": 5}, 0, None, r"__metadata__ should be an object, got 5"),
    ],
)
def test_safetensors_that_are_refused(tmp_path, header, data, length, message):
    path = safetensors_file(tmp_path, header, data, length)
    said = message.replace("its header has 1,073,741,824", "says that its header has 1,073,741,824")
    refused(read_safetensors, path, said if length and length >= 2**30 else message)


def test_a_tensor_that_a_header_lists_twice(tmp_path):
    text = b'{"x": ' + json.dumps(entry()).encode() + b', "x": ' + json.dumps(entry(start=24, end=48)).encode() + b"}"
    refused(read_safetensors, safetensors_file(tmp_path, text, 48), "duplicate key 'x'")


@pytest.mark.parametrize(
    ("bomb", "message"),
    [
        (lambda size: b'{"x": ' + b"[" * size, "nested deeper than 4 levels"),
        (lambda size: b'{"x": [' + b"1," * (size // 2) + b"1]}", "at most 2,500,000 keys and items are read"),
        (lambda size: b'{"x": ' + b"9" * size + b"}", "'x' needs dtype, shape and data_offsets, got inf"),
        (lambda size: b'{"x": "' + b"\\u0041" * (size // 6) + b'"}', "its texts have more than 100,000 escapes"),
        (lambda size: b'{"x": "' + b"A" * size + b'"}', "'x' needs dtype, shape and data_offsets, got 'A"),
        (lambda size: b'{"x": {' + b'"":0,' * 400_000 + b"}" + b" " * (size // 9), "line 1: "),
        (lambda size: b"{" + b" " * size + b"}", "has no weights|no config"),
    ],
    ids=["depth", "items", "digits", "escapes", "text", "keys", "blanks"],
)
def test_bombs_of_json(tmp_path, bomb, message):
    path = safetensors_file(tmp_path, bomb(30 * 2**20))
    if "no config" in message:
        assert read_safetensors(path).tensors == ()
    else:
        refused(read_safetensors, path, message, measured=True)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (
            {"weight_map": {"x": "../../etc/passwd"}},
            r"'x' should be in a .safetensors file of its folder",
        ),
        ({"weight_map": {"x": "/etc/passwd.safetensors"}}, r"'x' should be in a .safetensors file"),
        ({"weight_map": {"x": 5}}, r"'x' should be in a .safetensors file"),
        ({"weight_map": {}}, r"expected an object 'weight_map' of the file of each tensor, got \{\}"),
        ({"weight_map": {"x": "gone.safetensors"}}, r"gone\.safetensors are missing in its folder"),
        ({"weight_map": {"y": "x.safetensors"}}, r"the index says that 'y' is in x\.safetensors, no file has it"),
        (
            {"weight_map": {"x": "x.safetensors", "y": "x.safetensors"}},
            r"the index says that 'y' is in x\.safetensors, no file has it",
        ),
    ],
)
def test_indices_that_are_refused(tmp_path, index, message):
    safetensors_file(tmp_path, {"x": entry()}, 24)
    path = tmp_path / "model.safetensors.index.json"
    path.write_text(json.dumps(index))
    refused(read_safetensors, path, message)


def test_a_tensor_in_two_files(tmp_path):
    for name in ("a", "b"):
        safetensors_file(tmp_path, {"x": entry()}, 24).rename(tmp_path / f"{name}.safetensors")
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"weight_map": {"x": "a.safetensors", "y": "b.safetensors"}})
    )
    with pytest.raises(errors.PresetError, match=r"the tensor 'x' is in a\.safetensors and in b\.safetensors"):
        read_safetensors(tmp_path)


# -------------------------------------------------------------------------------------------------------------- GGUF


def text(word):
    return struct.pack("<Q", len(word)) + word


def gguf_file(tmp_path, *parts, tensors=0, keys=0, magic=b"GGUF", version=3, data=0):
    path = tmp_path / "x.gguf"
    with path.open("wb") as file:
        file.write(magic + struct.pack("<IQQ", version, tensors, keys) + b"".join(parts))
        file.truncate(file.tell() + data)
    return path


def tensor(name=b"x", sides=(32,), kind=0, start=0):
    return text(name) + struct.pack(f"<I{len(sides)}QIQ", len(sides), *sides, kind, start)


BIG = struct.pack("<Q", 2**60)


@pytest.mark.parametrize(
    ("parts", "keys", "message"),
    [
        ([], {"magic": b"GGML"}, r"no GGUF file: it begins with b'GGML', not b'GGUF'"),
        ([], {"version": 1}, r"GGUF version 1, this reads versions 2 and 3"),
        ([], {"version": 2**31}, r"GGUF version 128, this reads versions 2 and 3"),
        ([], {"tensors": 2**60}, r"says that it has 1,152,921,504,606,846,976 tensors, at most 500,000 are read"),
        ([], {"keys": 2**60}, r"says that it has 1,152,921,504,606,846,976 keys, at most 10,000 are read"),
        ([], {"keys": 1}, r"ends within its header, at byte 24: it is incomplete"),
        ([BIG], {"keys": 1}, r"a key of 1,152,921,504,606,846,976 bytes at byte 32, at most 65,535 are read"),
        ([text(b"k"), struct.pack("<I", 8), BIG], {"keys": 1}, r"a text of 'k' of 1,152,921,504,606,846,976 bytes"),
        ([text(b"k"), struct.pack("<IQ", 8, 5000), b"x"], {"keys": 1}, r"ends within its header"),
        ([text(b"k"), struct.pack("<I", 77)], {"keys": 1}, r"'k' has a value of kind 77, which GGUF does not have"),
        ([text(b"k"), struct.pack("<II", 9, 4), BIG], {"keys": 1}, r"'k' .*1,152,921,504,606,846,976 items, at most"),
        ([text(b"k"), struct.pack("<IIQ", 9, 4, 2**24)], {"keys": 1}, r"ends within its header"),
        ([text(b"k"), struct.pack("<IIQ", 9, 8, 2**21)], {"keys": 1}, r"ends within its header"),
        ([text(b"k"), struct.pack("<I", 9), struct.pack("<IQ", 9, 1) * 9], {"keys": 1}, r"nested deeper than 4 levels"),
        ([text(b"k"), struct.pack("<IIQ", 9, 9, 5000)], {"keys": 1}, r"'k' has 5,000 lists, at most 4,096 are read"),
        ([(text(b"k") + struct.pack("<IB", 0, 1)) * 2], {"keys": 2}, r"the key 'k' is listed twice"),
        (
            [text(b"general.alignment"), struct.pack("<II", 4, 0)],
            {"keys": 1},
            r"general\.alignment is 0, expected a power of two",
        ),
        ([tensor(kind=99)], {"tensors": 1}, r"'x' is of kind 99, which is not known"),
        ([tensor(kind=4)], {"tensors": 1}, r"'x' is of kind 4, which is not known"),
        ([tensor(sides=(33,), kind=2)], {"tensors": 1}, r"rows of 'x' have 33 elements"),
        ([tensor(sides=(2**40, 2**40))], {"tensors": 1}, r"'x' has more than 1,125,899,906,842,624 elements"),
        ([tensor(sides=(1,) * 5)], {"tensors": 1}, r"'x' .*has 5 dimensions, at most 4 are read"),
        ([text(b"x"), struct.pack("<I", 2**32 - 1)], {"tensors": 1}, r"has 4,294,967,295 dimensions"),
        ([tensor(name=b"n" * 2000)], {"tensors": 1}, r"the name of a tensor of 2,000 bytes"),
        ([tensor(), tensor()], {"tensors": 2, "data": 999}, r"the tensor 'x' is listed twice"),
        ([tensor(), tensor(name=b"y", start=64)], {"tensors": 2, "data": 999}, r"the tensors 'x' and 'y' overlap"),
        ([tensor(start=2**63)], {"tensors": 1, "data": 999}, r"its header describes 9,223,372,036,854,775,936 bytes"),
        ([tensor()], {"tensors": 1, "data": 100}, r"its header describes 128 bytes of tensors"),
    ],
)
def test_gguf_that_is_refused(tmp_path, parts, keys, message):
    refused(read_gguf, gguf_file(tmp_path, *parts, **keys), message)


def test_a_header_of_a_gigabyte(tmp_path):
    """Lists of texts that go on and on."""
    one = struct.pack("<IIQ", 9, 8, 2**21) + bytes(8 * 2**21)
    path = gguf_file(tmp_path, *(text(f"{k}".encode()) + one for k in range(9)), keys=9, data=2**30)
    refused(read_gguf, path, "its header is longer than 64 MiB")


def test_a_header_of_zeros_is_short(tmp_path):
    path = gguf_file(tmp_path, struct.pack("<QIB", 0, 0, 0) * 9999, keys=10_000, data=2**30)
    refused(read_gguf, path, "the key '' is listed twice")


def test_a_file_of_the_other_byte_order(tmp_path):
    swapped = b"GGUF" + struct.pack(">IQQ", 3, 0, 1) + struct.pack(">Q", 1) + b"k" + struct.pack(">IH", 2, 258)
    path = tmp_path / "x.gguf"
    path.write_bytes(swapped + bytes(32))
    assert read_gguf(path).metadata == {"k": 258}


@pytest.mark.parametrize("read", [rs.Model.from_gguf, rs.Model.from_safetensors])
def test_what_is_no_file(tmp_path, read):
    os.mkfifo(tmp_path / "pipe.gguf")
    for location, error, message in (
        (tmp_path / "pipe.gguf", errors.PresetError, "it is not a file"),
        (tmp_path / "none.gguf", errors.PresetError, "there is no such file, nor is it in the local"),
        (5, errors.InputTypeError, "expected the path of a checkpoint, got 5"),
        (b"x", errors.InputTypeError, "expected the path of a checkpoint, got b'x'"),
        ("a\0b", errors.PresetError, "there is no such file"),
        ("x" * 10_000, errors.PresetError, "there is no such file"),
    ):
        if read == rs.Model.from_safetensors and "pipe" in str(location):
            (tmp_path / "config.json").write_text(json.dumps(PLAIN))
        with pytest.raises(error, match=message):
            read(location)


# --------------------------------------------------------------------------------------------------- any damage


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """The headers of small files, and where their data begin."""
    folder = tmp_path_factory.mktemp("sound")
    checkpoints.write_gguf(folder / "x.gguf", PLAIN, tokens=20)
    checkpoints.write_safetensors(folder / "x.safetensors", checkpoints.stored(checkpoints.layout(PLAIN)))
    return {name: (folder / name).read_bytes() for name in ("x.gguf", "x.safetensors")}


@pytest.mark.parametrize("name", ["x.gguf", "x.safetensors"])
@settings(max_examples=150, deadline=None)
@given(location=st.integers(0, 4000), junk=st.binary(max_size=9), cut=st.booleans())
def test_damage_anywhere_is_a_short_error_or_a_header(tmp_path_factory, sound, name, location, junk, cut):
    data = sound[name]
    path = tmp_path_factory.getbasetemp() / f"damaged-{name}"
    path.write_bytes(data[:location] + junk if cut else data[:location] + junk + data[location + len(junk) :])
    read = read_gguf if name.endswith("gguf") else read_safetensors
    try:
        result = read(path)
        message = f"damaged-x has {len(result.tensors)} tensors"
    except errors.PresetError as error:
        message = str(error)
    assert 10 < len(message) < 1000
    assert re.search(r"damaged-x", message)
