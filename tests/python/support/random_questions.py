"""Random scenarios for outputs: those that tools/same_bits.py draws, as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import roofslate as rs
from questions.draw import Chance, Scenario, computed
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Question(NamedTuple):
    """Outputs, the inputs of a call, and its scalar numbers, which the call may vary."""

    number: int
    chance: Chance
    outputs: list[str]
    inputs: dict[str, Any]
    numbers: dict[str, float]


def asked(
    subject: str, numbers: Sequence[int], *, most_outputs: int = 1, axes: Sequence[int] = (0,), choices: bool = False
) -> Iterator[Question]:
    """Return the questions of these numbers, always the same for the same number.

    Some lack an input, or contradict another.
    """
    from questions.space import SPACE  # loads scipy.stats

    names = [name for name in computed() if choices or not entries()[name].choices]
    for k in numbers:
        chance = Chance(f"{subject} {k}")
        outputs: list[str] = chance.sample(names, chance.randint(1, most_outputs))
        scenario = Scenario(chance, outputs, presets=0.25)
        codes = scenario.codes(axes=chance.choice(axes))
        try:
            inputs = {name: eval(code, dict(SPACE)) for name, code in codes.items()}
        except rs.RoofslateError:
            continue
        plain = {name: x for name, x in scenario.inputs.items() if isinstance(x, float) and _is_plain(inputs[name])}
        yield Question(k, chance, outputs, inputs, plain)


def _is_plain(given: Any) -> bool:
    return isinstance(given, (int, float))


def slices(count: int, parts: int = 8) -> list[range]:
    """Return numbers of questions, cut for `first_alone`, with a small first part.

    Every run takes the first part.
    """
    return [range(k * count, (k + 1) * count) for k in range(parts)]
