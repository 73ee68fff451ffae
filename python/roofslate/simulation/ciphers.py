"""Ciphers and reversible networks, exact over integers and nearly exact in floating point.

A layer maps two halves (x, y) to (y + f(x), x). For any f the map can be inverted: the output contains x, and
subtracting f(x) from its first half gives y. Feistel ciphers consist of such rounds, and so do networks that need not
store activations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate._base.messages import unknown
from roofslate.errors import InputTypeError, ValueRangeError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "avalanche",
    "avalanche_coefficient",
    "decrypt",
    "encrypt",
    "network_avalanche",
    "restored_blocks",
    "revnet",
    "round_trip",
]

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.floating[Any]]
RoundFunction = Callable[[Words, int], Words]
_HALF = 32  # bits of a half block of the cipher
_GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio
_MASK = (1 << 64) - 1


def encrypt(blocks: npt.ArrayLike, key: int, *, rounds: int = 12) -> Words:
    """Encrypt 64-bit blocks with a Feistel cipher, for study, not for security.

    A balanced Feistel cipher: a block is two words (x, y) of 32 bits. Round i maps them to (y + f(x), x) modulo 2^32
    with the middle square f(x) = ((x xor k_i)^2 >> 16) mod 2^32. It cannot be inverted, as v and -v have the same
    square. The round keys k_i are the upper halves of the SplitMix64 sequence that starts from the key.

    Parameters
    ----------
    blocks : array_like of uint64
    key : int
        From 0 to 2^64 - 1.
    rounds : int

    Returns
    -------
    numpy.ndarray

    Examples
    --------
    >>> from roofslate import ciphers
    >>> secret = ciphers.encrypt([1, 2, 3], key=2026)
    >>> ciphers.decrypt(secret, key=2026).tolist()
    [1, 2, 3]
    """
    words = _blocks(blocks)
    x, y = _forward(words >> np.uint64(_HALF), words & np.uint64(2**_HALF - 1), _cipher(key, rounds), rounds, _HALF)
    return (x << np.uint64(_HALF)) | y


def decrypt(blocks: npt.ArrayLike, key: int, *, rounds: int = 12) -> Words:
    """Decrypt blocks from `encrypt` with the same key, undoing its rounds in reverse order.

    Parameters
    ----------
    blocks, key, rounds
        As in `encrypt`.

    Returns
    -------
    numpy.ndarray
    """
    words = _blocks(blocks)
    x, y = _backward(words >> np.uint64(_HALF), words & np.uint64(2**_HALF - 1), _cipher(key, rounds), rounds, _HALF)
    return (x << np.uint64(_HALF)) | y


def round_trip(
    function: RoundFunction | None = None, *, blocks: int = 1000, bits: int = 32, rounds: int = 12, seed: int
) -> pd.DataFrame:
    """Send random blocks through Feistel rounds and back, exactly, one row per block.

    Parameters
    ----------
    function : callable, optional
        f(x, round) on an array of uint64. It need not be invertible, and bits beyond `bits` are cut off. By default the
        middle square of `encrypt` with the seed as key.
    blocks : int
    bits : int
        Bits per half block, from 1 to 64.
    rounds : int
    seed : int
        Of the blocks. The same seed gives the same table.

    Returns
    -------
    pandas.DataFrame
        Columns `x`, `y`, `x_after`, `y_after`, `x_back`, `y_back`, `restored`.

    Examples
    --------
    >>> from roofslate import ciphers
    >>> bool(ciphers.round_trip(lambda x, i: x * x // 3, bits=20, seed=1)["restored"].all())
    True
    """
    import pandas as pd

    count, size = _natural(blocks, "blocks"), _natural(bits, "bits")
    if size > 64:
        raise ValueRangeError(f"bits must be from 1 to 64, got {bits!r}")
    f = _cipher(seed, rounds) if function is None else function
    draw = np.random.default_rng(_natural(seed, "seed", least=0))
    x, y = _any(draw, count) & np.uint64((1 << size) - 1)
    ciphertext = _forward(x, y, f, rounds, size)
    back = _backward(*ciphertext, f, rounds, size)
    table = pd.DataFrame(
        {"x": x, "y": y, "x_after": ciphertext[0], "y_after": ciphertext[1], "x_back": back[0], "y_back": back[1]}
    )
    return table.assign(restored=(table["x"] == table["x_back"]) & (table["y"] == table["y_back"]))


def restored_blocks(**inputs: Any) -> float:
    """Count the blocks of `round_trip` that were restored bit by bit.

    Parameters
    ----------
    **inputs
        As for `round_trip`.

    Returns
    -------
    float
    """
    return float(round_trip(**inputs)["restored"].sum())


def avalanche(*, rounds: int = 12, samples: int = 1000, seed: int) -> pd.DataFrame:
    """Measure the fraction of output bits that one flipped input bit flips, by round.

    Parameters
    ----------
    rounds : int
    samples : int
        Random blocks, with each of their 64 bits flipped in turn. The key is random too.
    seed : int

    Returns
    -------
    pandas.DataFrame
        Index `round`, from 0. Columns `flipped` (mean by input bit), `least` and `most` (by input bit). A good
        cipher reaches 0.5.
    """
    import pandas as pd

    draw = np.random.default_rng(_natural(seed, "seed", least=0))
    count, key = _natural(samples, "samples"), int(draw.integers(0, 1 << 63))
    f, half, low = _cipher(key, rounds), np.uint64(_HALF), np.uint64(2**_HALF - 1)
    plain = _any(draw, count)[0]
    flipped = plain[:, None] ^ (np.uint64(1) << np.arange(64, dtype=np.uint64))
    one, other = (plain >> half, plain & low), (flipped >> half, flipped & low)
    rows = []
    for number in range(rounds + 1):
        if number:
            one, other = (_round(*pair, f, number - 1, _HALF) for pair in (one, other))
        changed = (_ones(other[0] ^ one[0][:, None]) + _ones(other[1] ^ one[1][:, None])) / 64
        by_bit = changed.mean(axis=0)
        rows.append((by_bit.mean(), by_bit.min(), by_bit.max()))
    return pd.DataFrame(rows, columns=["flipped", "least", "most"], index=pd.RangeIndex(rounds + 1, name="round"))


def avalanche_coefficient(**inputs: Any) -> float:
    """Return the fraction of output bits that one input bit flips after the last round.

    Parameters
    ----------
    **inputs
        As for `avalanche`.

    Returns
    -------
    float

    Examples
    --------
    >>> from roofslate import ciphers
    >>> round(ciphers.avalanche_coefficient(samples=500, seed=1), 2)
    0.5
    """
    return float(avalanche(**inputs)["flipped"].iloc[-1])


def revnet(
    *,
    layers: int = 16,
    width: int = 64,
    tokens: int = 32,
    dtype: Literal["float32", "float64"] = "float64",
    seed: int,
) -> pd.DataFrame:
    """Run a small reversible network forward and backward, and measure errors and memory.

    Layers map (x, y) to (y + f(x), x) with f(x) = tanh(x W), W random with rows of length one half. The loss is half
    the sum of squares of the last output. The backward pass inverts each layer before it differentiates it.

    Parameters
    ----------
    layers, width, tokens : int
    dtype : {"float64", "float32"}
    seed : int

    Returns
    -------
    pandas.DataFrame
        Index `layer`, from 0. Columns `error` (largest, of its recomputed inputs), `error_ulp` (the same in units in
        the last place of the largest input), `gradient_error` (largest, of W, relative to the largest gradient with
        stored inputs), `stored_bytes` (activations that an ordinary network stores after the layer) and
        `reversible_bytes`.
    """
    import pandas as pd

    net = _Network(layers, width, tokens, dtype, seed)
    states = [(net.x, net.y)]
    for weights in net.weights:
        states.append(net.forward(*states[-1], weights))
    size = net.x.nbytes * 2
    x, y = states[-1]
    gradient = undone_gradient = (x.copy(), y.copy())
    rows = []
    for number in reversed(range(len(net.weights))):
        weights, inputs = net.weights[number], states[number]
        x, y = net.undo(x, y, weights)
        gradient, by_weights = net.backward(inputs[0], weights, gradient)
        undone_gradient, undone_by_weights = net.backward(x, weights, undone_gradient)
        error = max(float(np.abs(a - b).max()) for a, b in zip((x, y), inputs, strict=True))
        largest = max(float(np.abs(a).max()) for a in inputs)
        ulp = float(np.spacing(np.array(largest, dtype=net.x.dtype)))
        wrong = float(np.abs(by_weights - undone_by_weights).max() / np.abs(by_weights).max())
        rows.append((error, error / ulp, wrong, size * (number + 1), size))
    columns = ["error", "error_ulp", "gradient_error", "stored_bytes", "reversible_bytes"]
    table = pd.DataFrame(rows[::-1], columns=columns, index=pd.RangeIndex(len(rows), name="layer"))
    table.attrs["units"] = {"stored_bytes": "byte", "reversible_bytes": "byte"}
    return table


def network_avalanche(
    *, layers: int = 16, width: int = 64, samples: int = 1000, step: float = 1e-3, seed: int
) -> pd.DataFrame:
    """Measure the effect of a small step in one input of the reversible network, by layer.

    Parameters
    ----------
    layers, width, samples : int
    step : float
        Change of one input, in standard deviations.
    seed : int

    Returns
    -------
    pandas.DataFrame
        Index `layer`, 0 for the input. Columns `flipped` (fraction of activations that change sign, one half for a
        cipher) and `growth` (norm of the change relative to the step).
    """
    import pandas as pd

    net = _Network(layers, width, samples, "float64", seed)
    one = (net.x, net.y)
    other = (net.x + step * (np.arange(width) == 0), net.y)
    rows = []
    for weights in [None, *net.weights]:
        if weights is not None:
            one, other = net.forward(*one, weights), net.forward(*other, weights)
        a, b = np.concatenate(one, axis=1), np.concatenate(other, axis=1)
        rows.append(
            (float(np.mean(np.signbit(a) != np.signbit(b))), float(np.mean(np.linalg.norm(a - b, axis=1)) / step))
        )
    return pd.DataFrame(rows, columns=["flipped", "growth"], index=pd.RangeIndex(len(rows), name="layer"))


def _round(x: Words, y: Words, f: RoundFunction, number: int, bits: int) -> tuple[Words, Words]:
    return (y + f(x, number)) & np.uint64((1 << bits) - 1), x


def _forward(x: Words, y: Words, f: RoundFunction, rounds: int, bits: int) -> tuple[Words, Words]:
    for number in range(_natural(rounds, "rounds")):
        x, y = _round(x, y, f, number, bits)
    return x, y


def _backward(x: Words, y: Words, f: RoundFunction, rounds: int, bits: int) -> tuple[Words, Words]:
    for number in reversed(range(_natural(rounds, "rounds"))):
        x, y = y, (x - f(y, number)) & np.uint64((1 << bits) - 1)
    return x, y


def _cipher(key: int, rounds: int) -> RoundFunction:
    if isinstance(key, bool) or not isinstance(key, (int, np.integer)):
        raise InputTypeError(f"key: expected a whole number, got {key!r}")
    if not 0 <= key <= _MASK:
        raise ValueRangeError(f"key must be from 0 to 2^64 - 1, got {key!r}")
    numbers = range(1, _natural(rounds, "rounds") + 1)
    keys = [np.uint64(_split_mix(int(key) + _GOLDEN * number) >> _HALF) for number in numbers]

    def middle_square(x: Words, number: int) -> Words:
        v = x ^ keys[number]
        return ((v * v) >> np.uint64(16)) & np.uint64(2**_HALF - 1)

    return middle_square


def _split_mix(state: int) -> int:
    """Return one output of SplitMix64 (Steele, Lea, Flood 2014)."""
    z = state & _MASK
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & _MASK
    return z ^ (z >> 31)


def _any(draw: np.random.Generator, count: int) -> Words:
    return draw.integers(0, _MASK, (2, count), dtype=np.uint64, endpoint=True)


def _ones(words: Words) -> npt.NDArray[np.int64]:
    """Count the set bits."""
    table = np.array([byte.bit_count() for byte in range(256)])
    return np.asarray(sum(table[(words >> np.uint64(8 * k)) & np.uint64(255)] for k in range(8)))


def _blocks(blocks: npt.ArrayLike) -> Words:
    words = blocks if isinstance(blocks, np.ndarray) else np.array(blocks, dtype=object)
    is_whole = words.dtype.kind in "iu" or all(isinstance(word, (int, np.integer)) for word in words.flat)
    if not is_whole or (words.size and not 0 <= words.min() <= words.max() <= _MASK):
        raise InputTypeError("blocks: expected whole numbers from 0 to 2^64 - 1")
    return words.astype(np.uint64)


class _Gradient(NamedTuple):
    x: Floats
    y: Floats


class _Network:
    """Weights and input of the demonstration, and its layer in three directions."""

    def __init__(self, layers: int, width: int, tokens: int, dtype: str, seed: int) -> None:
        if dtype not in ("float32", "float64"):
            raise unknown("dtype", dtype, ("float32", "float64"))
        size = _natural(width, "width")
        draw = np.random.default_rng(_natural(seed, "seed", least=0))
        shape = (_natural(layers, "layers"), size, size)
        self.weights = (draw.standard_normal(shape) * (0.5 / np.sqrt(size))).astype(dtype)
        self.x, self.y = draw.standard_normal((2, _natural(tokens, "tokens"), size)).astype(dtype)

    @staticmethod
    def forward(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
        return y + np.tanh(x @ weights), x

    @staticmethod
    def undo(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
        return y, x - np.tanh(y @ weights)

    @staticmethod
    def backward(x: Floats, weights: Floats, gradient: tuple[Floats, Floats]) -> tuple[_Gradient, Floats]:
        """Compute gradients by inputs and weights of the layer, from the gradient by its outputs."""
        inside = gradient[0] * (1 - np.tanh(x @ weights) ** 2)
        return _Gradient(gradient[1] + inside @ weights.T, gradient[0]), x.T @ inside


def _natural(value: float, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputTypeError(f"{name}: expected a whole number, got {value!r}")
    if value < least:
        raise ValueRangeError(f"{name} must be at least {least}, got {value!r}")
    return int(value)
