"""Names of presets as the field writes them: words in any order, "8x H100", "80 GB"."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from roofslate.registry.aliases import RANKS, rank

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roofslate.presets.preset import Preset

__all__ = ["meant_by", "ranked"]


# Words that makers add to the name of a chip.
_BESIDE = {"nvidia", "amd", "google", "intel", "aws", "huawei", "microsoft", "instinct", "tesla", "gpu", "gpus", "chip"}
_MEMORY = re.compile(r"hbm\d[a-z]?")


_REWRITTEN = (
    (re.compile(r"\b(\d+)\s*[x×*]\s*(?=[a-z]+\d)"), r"x\1 "),  # 8x H100
    (re.compile(r"(?<=[a-z]\d\d)(\d*[a-z]*)\s*[x×*]\s*(\d+)\b"), r"\1 x\2"),  # H100x8, but not 8x7B
    (re.compile(r"(\d)\s+(gb|tb|b)\b"), r"\1\2"),  # 80 GB
    (re.compile(r"\bsxm\d\b"), "sxm"),
)


@functools.lru_cache(maxsize=4096)
def _words(text: str) -> tuple[str, ...]:
    text = text.casefold()
    for pattern, form in _REWRITTEN:
        text = pattern.sub(form, text)
    return tuple(re.findall(r"[\w.+]+", text.replace("_", " ")))


def _bare(words: Iterable[str]) -> tuple[str, ...]:
    return tuple(word for word in words if word not in _BESIDE and not _MEMORY.fullmatch(word))


def meant_by(text: str, presets: Iterable[Preset], *, parts: bool) -> list[Preset]:
    """Presets that a text may mean, if it is not the name of one.

    Parameters
    ----------
    text : str
    presets : iterable of Preset
    parts : bool
        Whether some words of a name are enough.

    Returns
    -------
    list of Preset
        Those with a name of the same words in any order, otherwise a name contains all words.
    """
    words = _words(text)
    known = [(preset, [_words(name) for name in preset.names]) for preset in presets]
    for requested in dict.fromkeys((words, _bare(words))):
        if not requested:
            continue
        result = [preset for preset, names in known if any(sorted(requested) == sorted(name) for name in names)]
        if not result and parts:
            result = [preset for preset, names in known if any({*requested} <= {*name} for name in names)]
        if result:
            return result
    return []


def ranked(text: str, presets: Iterable[Preset]) -> list[Preset]:
    """Presets that have the words of a text, the best matches first."""
    words = " ".join(_words(text))
    bare = " ".join(_bare(_words(text))) or words
    places: dict[int, list[Preset]] = {}
    for preset in presets:
        names = [" ".join(_words(name)) for name in preset.names]
        facts = _facts(preset)
        result = [location for each in (words, bare) if (location := rank(each, names, facts)) is not None]
        if result:
            places.setdefault(min(result), []).append(preset)
    return [preset for location in range(RANKS) for preset in places.get(location, [])]


def _facts(preset: Preset) -> str:
    """Words of a preset's main numbers, vendor and note."""
    values = preset.values
    words = [" ".join(_words(preset.note)), *(str(x) for x in preset.attributes.values() if isinstance(x, str))]
    words += [x for x in values.values() if isinstance(x, str)]
    numbers = {name: x for name, x in values.items() if isinstance(x, (int, float))}
    if "hbm_capacity" in numbers:
        words.append(f"{numbers['hbm_capacity'] / 1e9:.0f}gb")
    if "chips" in numbers:
        words += [f"x{numbers['chips']:.0f}", f"{numbers['chips']:.0f}x"]
    if "total_parameters" in numbers:
        words.append(f"{numbers['total_parameters'] / 1e9:.0f}b")
    if "active_parameters" in numbers:
        words.append(f"a{numbers['active_parameters'] / 1e9:.0f}b")
    if "experts" in numbers:
        words.append("moe" if numbers["experts"] > 1 else "dense")
    return " ".join(words).casefold()
