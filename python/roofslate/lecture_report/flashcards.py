"""The lecture's flashcards: 27 questions with their answers, the numbers computed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pandas as pd

from roofslate import units
from roofslate._base.messages import unknown
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.lecture_report.entries import computed, listed
from roofslate.measured.stored import TOLERANCE, compute
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Flashcards", "cards_that_hold", "flashcards"]


class Flashcards(pd.DataFrame):
    """Flashcards as a table that grades guesses.

    A `pandas.DataFrame` with index `card` and columns `question`, `answer`, `computed`, `values`, `source`.
    """

    def grade(self, guesses: Mapping[str, float | str], *, tolerance: float = 0.1) -> pd.DataFrame:
        """Grade guesses at cards with numeric answers, one row per guess.

        Parameters
        ----------
        guesses : mapping
            A number or a text with a unit for each card, such as ``{"F2": "0.3 ms", "F8": 2400}``. A number is in the
            unit of the nearest answer.
        tolerance : float
            Largest error relative to the answer. A guess at any of a card's answers counts.

        Returns
        -------
        pandas.DataFrame
            Index `card`; columns `guess`, `nearest` (nearest answer), `label` (its subject), `unit` (of both) and
            `verdict` ("right" or "wrong").

        Raises
        ------
        UnknownName
            For a card that does not exist.
        UnitError
            For a guess in a unit of another dimension.
        InputTypeError
            For a guess that is neither a number nor a text.
        ValueRangeError
            For a card whose answer is no number, and for a tolerance below 0.

        Examples
        --------
        >>> import roofslate as rs
        >>> rs.flashcards().grade({"F2": "0.3 ms", "F19": 200e12})["verdict"].tolist()
        ['right', 'wrong']
        """
        if not tolerance >= 0:
            raise ValueRangeError(f"tolerance must be at least 0, got {tolerance!r}")
        cards = {card["id"]: card for card in _cards() if card["id"] in self.index}
        rows = []
        for name, guess in guesses.items():
            if name not in cards:
                raise unknown("card", name, cards)
            calls = cards[name]["computed"]
            if not calls:
                raise ValueRangeError(f"{name} has no number: {cards[name]['question']}")
            (miss, given, answer), call = min(
                ((_distance(guess, call), call) for call in calls), key=lambda pair: pair[0][0]
            )
            verdict = "right" if miss <= tolerance else "wrong"
            rows.append((given, answer, call["label"], call["unit"], verdict))
        columns = ["guess", "nearest", "label", "unit", "verdict"]
        return pd.DataFrame(rows, index=pd.Index(list(guesses), name="card"), columns=columns)


def flashcards() -> Flashcards:
    """List the lecture's flashcards with computed answers.

    Returns
    -------
    Flashcards
        A `pandas.DataFrame` with index `card`; columns `question`, `answer` (in words), `computed` (the numbers of the
        answer, as texts), `values` (the same as numbers), `source`. Two are tuples, empty without a number.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.flashcards().loc["F8", "computed"]
    ('the lecture, 32 of 256 experts: 2,400 seq', 'DeepSeek-V3 by its parameters: 5,440.5 seq')
    """
    rows = [(card["question"], card["answer"], *computed(card["computed"]), card["source"]) for card in _cards()]
    index = pd.Index([card["id"] for card in _cards()], name="card")
    return Flashcards(rows, index=index, columns=["question", "answer", "computed", "values", "source"])


def cards_that_hold() -> float:
    """Count the cards with computed answers equal to the deck's.

    Returns
    -------
    float
    """
    return float(
        sum(
            all(math.isclose(compute(call), call["expected"], rel_tol=TOLERANCE) for call in card["computed"])
            for card in _cards()
        )
    )


def _distance(guess: float | str, call: Mapping[str, Any]) -> tuple[float, float, float]:
    """Distance of a guess from an answer, relative to the answer."""
    answer = compute(call)
    if isinstance(guess, str):
        unit = "1" if "." in call["quantity"] else lookup(call["quantity"]).unit
        given = units.parse(guess, unit) / units.convert_factor(call["unit"], unit)
    elif isinstance(guess, bool) or not isinstance(guess, (int, float)):
        raise InputTypeError(f"a guess is a number or a text with a unit, got {guess!r}")
    else:
        given = float(guess)
    return abs(given - answer) / abs(answer), given, answer


def _cards() -> list[dict[str, Any]]:
    return listed("flashcards.toml", "card")
