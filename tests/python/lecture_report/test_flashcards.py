"""Flashcards and claims: what they say in numbers is computed."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs
from roofslate.lecture_report import claims as register
from roofslate.lecture_report import flashcards as cards

CALLS = [
    pytest.param(call, id=f"{entry.get('id', entry.get('kind'))}-{call['label']}")
    for entry in [*cards._cards(), *register._claims()]
    for call in entry["computed"]
]
WORDS_ALONE = {"F12"}  # its answer is an order of events


@pytest.mark.parametrize("call", CALLS)
def test_numbers_are_as_written(call: dict[str, Any]) -> None:
    from roofslate.measured.stored import compute

    assert set(call) == {"label", "quantity", "inputs", "unit", "expected"}
    assert compute(call) == pytest.approx(call["expected"], rel=5e-3)


def test_the_deck_is_complete() -> None:
    deck = rs.flashcards()
    assert list(deck.columns) == ["question", "answer", "computed", "values", "source"]
    assert deck.index.tolist() == [f"F{number}" for number in range(1, 28)]
    assert cards.cards_that_hold() == 27
    for name, card in deck.iterrows():
        assert card["question"].rstrip(".").endswith("?")
        assert card["answer"].endswith(".")
        assert len(card["computed"]) == len(card["values"])
        assert bool(card["computed"]) == (name not in WORDS_ALONE)


def test_a_card_that_does_not_hold_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    deck = [dict(card) for card in cards._cards()]
    deck[1]["computed"] = [{**deck[1]["computed"][0], "expected": 0.3}]
    monkeypatch.setattr(cards, "_cards", lambda: deck)
    assert cards.cards_that_hold() == 26


def test_guesses_are_graded() -> None:
    table = rs.flashcards().grade({"F2": "0.28 ms", "F8": 5400, "F9": "30 ms", "F19": "260e12 tok", "F26": 999})
    assert list(table.columns) == ["guess", "nearest", "label", "unit", "verdict"]
    assert table["verdict"].tolist() == ["right", "right", "wrong", "right", "right"]
    assert table.loc["F2", "guess"] == pytest.approx(0.28)
    assert table.loc["F8", "nearest"] == pytest.approx(5440.5, rel=1e-3)
    assert table.loc["F9", "nearest"] == pytest.approx(24)
    assert rs.flashcards().grade({"F8": 2410}, tolerance=1e-3)["verdict"].tolist() == ["wrong"]
    assert rs.flashcards().grade({}).empty


@pytest.mark.parametrize(
    ("guesses", "kind", "message"),
    [
        ({"F28": 1}, rs.errors.UnknownName, "F28"),
        ({"F12": 1}, rs.errors.ValueRangeError, "no number"),
        ({"F2": "3 GB"}, rs.errors.UnitError, "GB"),
        ({"F2": None}, rs.errors.InputTypeError, "guess"),
        ({"F2": True}, rs.errors.InputTypeError, "guess"),
    ],
)
def test_mistakes_are_named(guesses: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        rs.flashcards().grade(guesses)
    with pytest.raises(rs.errors.ValueRangeError, match="tolerance"):
        rs.flashcards().grade({"F2": 1}, tolerance=-1)


def test_claims_have_a_date_and_a_standing() -> None:
    table = rs.claims()
    columns = ["kind", "claim", "who", "date", "standing", "checked", "computed", "values"]
    assert list(table.columns) == columns
    assert table["kind"].unique().tolist() == ["mental model", "prediction", "claim"]
    assert not table["claim"].duplicated().any()
    assert table["date"].str.fullmatch(r"2026-\d\d(-\d\d)?").all()
    assert table["standing"].str.len().min() > 3
    assert len(rs.claims("prediction")) == (table["kind"] == "prediction").sum() >= 5
    with pytest.raises(rs.errors.UnknownName, match="kind of claim"):
        rs.claims("rumour")
