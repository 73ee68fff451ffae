"""Mistakes in conditions and formulas: errors give the position, and no text takes long."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from roofslate import errors
from roofslate.errors import ConditionError
from roofslate.registry.conditions import MOST_BRACKETS, parse_conditions, parse_formula
from roofslate.registry.tokens import MOST_CHARACTERS

# ----------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("", "the end", "the condition is empty"),
        ("  \n", "the end", "the condition is empty"),
        ("pass_time", "the end", "a comparison is missing"),
        ("pass_time and 1 < 2", "'and', character 11", "a comparison is missing"),
        ("pass_time <", "the end", "a number, a quantity or an opening bracket is missing"),
        ("< 3", "'<', character 1", "a number, a quantity or an opening bracket is missing"),
        ("pass_time < * 3", "'*', character 13", "a number, a quantity or an opening bracket is missing"),
        ("pass_time < +3", "'+', character 13", "a number, a quantity or an opening bracket is missing"),
        ("pass_time <> 3", "'>', character 12", "a number, a quantity or an opening bracket is missing"),
        ("pass_time < 3 and", "the end", "a number, a quantity or an opening bracket is missing"),
        ("pass_time < 1 or 1 < 2", "'or', character 15", "'or' is not allowed"),
        ("pass_time < 1 OR 1 < 2", "'OR', character 15", "'or' is not allowed"),
        ("pass_time < 1 | 1 < 2", "'|', character 15", "'or' is not allowed"),
        ("pass_time < 1 s AND 1 < 2", "'AND', character 17", "write 'and' in lower case"),
        ("pass_time < 1 & 1 < 2", "'&', character 15", "write 'and'"),
        ("not pass_time < 1", "'not', character 1", "'not' is out of place"),
        ("pass_time ** 2 < 1", "'**', character 11", "powers are not allowed"),
        ("(pass_time)^2 < 1", "'^', character 12", "powers are not allowed"),
        ("2 ** 3 < 1", "'**', character 3", "powers are not allowed"),
        ("(pass_time)² < 1", "'²', character 12", "powers are not allowed"),
        ("(batch_size 3) < 4", "'3', character 13", "an operation is missing before this"),
        ("min(batch_size 3) < 4", "'3', character 16", "an operation is missing before this"),
        ("(batch_size, 3) < 4", "',', character 12", "a comma separates arguments of a function"),
        ("pass_time = 1", "'=', character 11", "write '==', '<=' or '>='"),
        ("pass_time =< 1", "'=', character 11", "write '==', '<=' or '>='"),
        ("pass_time ≤ 1", "'≤', character 11", "write '<='"),
        ("pass_time == 1", "'==', character 11", "'==' compares choices; numbers compare by < <= > >="),
        ("1 < pass_time != 1", "'!=', character 15", "'!=' compares choices"),
        ("1 < pass_time < 2 < 3", "'<', character 19", "at most three sides"),
        ("(pass_time < 1) and 1 < 2", "'<', character 12", "a comparison takes no brackets"),
        ("max(pass_time < 1, 2) < 2", "'<', character 15", "a comparison takes no brackets"),
        ("(pass_time + 1 s", "'(', character 1", "this bracket is not closed"),
        ("pass_time) < 1", "')', character 10", "this bracket was not opened"),
        ("() < 1", "')', character 2", "is missing here"),
        ("pass_time < 1, 2 < 3", "',', character 14", "conditions are joined by 'and'"),
        ("pass_time < 1,2345", "',', character 14", "thousands in a number"),
        ("max(1,667) < 2", "'1,667', character 5", "one number or two"),
        ("max(1,667,5) < 2", "'1,667', character 5", "one number or two"),
        ("pass_time < 1.2.3", "'.3', character 16", "an operation is missing"),
        ("5 pass_time < 1", "'pass_time', character 3", "an operation is missing"),
        ("5 (pass_time) < 1", "'(', character 3", "an operation is missing"),
        ("5 ms pass_time < 1", "'pass_time', character 6", "an operation is missing"),
        ("5 min(1, 2) < 1", "'min', character 3", "an operation is missing"),
        ("pass_time(3) < 1", "'(', character 10", "'pass_time' is no function"),
        ("min < 3", "'min', character 1", "'min' is a function: brackets must follow"),
        ("max(pass_time) < 1", "'max', character 1", "max takes two arguments or more"),
        ("sqrt(1, 2) < 1", "'sqrt', character 1", "sqrt takes one argument, got 2"),
        ("exp() < 1", "')', character 5", "is missing here"),
        ("pass_time < nan", "'nan', character 13", "nothing compares with NaN"),
        ("pass_time / 64 / s < 3", "'/', character 16", "the dividend of this unit is ambiguous"),
        ("pass_time < $", "'$', character 13", "is missing here"),
        ("pass_time; 1", "';', character 10", "not part of the grammar"),
        ("pass_time.real < 1", "'.', character 10", "not part of the grammar"),
        ("[pass_time] < 1", "'[', character 1", "use round brackets"),
        ("overlap == 'none", '"\'", character 12', "the quoted word does not end"),
        ("overlap == “none”", "'“', character 12", "use straight quotes"),
        ("overlap < 'none'", "'<', character 9", "the words of a choice have no order"),
        ("overlap == 1", "'==', character 9", "'overlap' is one of 'board' | 'serial_kv' | 'none'"),
        ("pass_time == 'none'", "'==', character 11", "'pass_time' is no choice"),
        ("'none' == 'none'", "'==', character 8", "is no choice"),
        ("overlap == weight_format", "'==', character 9", "choices of other words"),
        ("overlap + 1 < 2", "'overlap', character 1", "a choice is no number"),
        ("2 * (overlap) < 2", "'overlap', character 6", "a choice is no number"),
        ("-overlap == 'none'", "'overlap', character 2", "a choice is no number"),
        ("sqrt(overlap) < 2", "'overlap', character 6", "a choice is no number"),
        ("max(1, 'none') < 2", "\"'none'\", character 8", "a choice is no number"),
        ("'none' * 2 < 2", "\"'none'\", character 1", "a choice is no number"),
    ],
)
def test_a_mistake_is_shown_with_its_place(text, position, message):
    with pytest.raises(ConditionError) as caught:
        parse_conditions(text)
    error = str(caught.value)
    assert error.startswith(f"condition {text!r}, at {position}: ")
    assert message in error
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("pass_time <= 50 MB", "'<=', character 11", "'pass_time' is in s, but '50 MB' is in byte"),
        ("50 MB >= pass_time", "'>=', character 7", "'50 MB' is in byte, but 'pass_time' is in s"),
        ("pass_time <= hbm_used", "'<=', character 11", "is in s, but 'hbm_used' is in byte/chip"),
        ("0 < pass_time <= hbm_used", "'<=', character 15", "is in s, but 'hbm_used' is in byte/chip"),
        ("pass_time <= 128k", "'<=', character 11", "'k' by itself is for counts only. Write for example '50 ms'"),
        ("pass_time <= 5 s^2", "'<=', character 11", "'5 s^2' is in s^2"),
        ("pass_time <= $5", "'<=', character 11", "'$5' is in USD"),
        ("pass_time <= $0", "'<=', character 11", "'$0' is in USD"),
        ("pass_time <= 0 B", "'<=', character 11", "'0 B' is in byte"),
        ("batch_size <= 30%", "'<=', character 12", "it is in percent"),
        ("batch_size <= 2 * 30%", "'<=', character 12", "'2 * 30%' is a number (unit 1)"),
        ("total_parameters <= 671B", "'<=', character 18", "B means byte, use G for a billion"),
        ("batch_size <= 64 tok", "'<=', character 12", "it is in token"),
        ("batch_size <= chips", "'<=', character 12", "'batch_size' is in sequence, but 'chips' is in chip"),
        ("hbm_used <= hbm_capacity * chips", "'<=', character 10", "'hbm_capacity * chips' is in byte"),
        (
            "pass_time + 1 < 2",
            "'+', character 11",
            "'pass_time' is in s, but '1' is a number (unit 1); a number without",
        ),
        ("2 - pass_time < 2", "'-', character 3", "'2' is a number (unit 1), but 'pass_time' is in s"),
        ("pass_time < 2 * 0.05", "'<', character 11", "'2 * 0.05' is a number (unit 1)"),
        ("max(pass_time, 1 B) < 2", "'max', character 1", "'pass_time' is in s, but '1 B' is in byte"),
        ("min(1 s, 2 s, 3) < 2", "'min', character 1", "but '3' is a number (unit 1)"),
        ("exp(pass_time) < 2", "'exp', character 1", "exp takes a number (unit 1), but 'pass_time' is in s"),
        ("log(2 * 3 s) < 2", "'log', character 1", "log takes a number (unit 1), but '2 * 3 s' is in s"),
        ("sqrt(sqrt(pass_time)) < 2", "'sqrt', character 1", "the square root of s^0.5 has no unit"),
        ("pass_time*pass_time*pass_time*pass_time*pass_time < 1", "'*', character 40", "an exponent of 5, in s^5"),
        ("pass_time < 50 MS", "'50', character 13", "unknown unit 'MS'; did you mean 'ms'?"),
        ("pass_time < 3 furlong", "'3', character 13", "unknown unit 'furlong'"),
        ("pass_time < 1e400 s", "'1e400', character 13", "the number is too large"),
        ("pass_time < 5 s^9", "'5', character 13", "an exponent of 9 is not supported"),
        ("chip_price < 2 USD/h GPU", "'2', character 14", "it is unclear whether 'GPU' is divided by"),
        ("pass_time < 12 k GB", "'12', character 13", "'k' belongs to the unit"),
    ],
)
def test_units_that_do_not_fit(text, position, message):
    with pytest.raises(errors.UnitError) as caught:
        parse_conditions(text)
    assert f"condition {text!r}, at {position}: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "position", "message"),
    [
        ("pass_tme < 3", "'pass_tme', character 1", "unknown quantity 'pass_tme'; did you mean 'pass_time'?"),
        ("zzzzzz < 3", "'zzzzzz', character 1", "unknown quantity 'zzzzzz'"),
        ("pass_time² < 3", "'pass_time²', character 1", "did you mean 'pass_time'?"),
        ("ms < 3", "'ms', character 1", "a unit follows a number"),
        ("64 * h < 3", "'h', character 6", "a unit follows a number"),
        ("overlap == none", "'none', character 12", "a word of a choice needs quotes"),
        ("overlap == 'nne'", "\"'nne'\", character 12", "unknown overlap 'nne'; did you mean 'none'?"),
        ("'x' != (overlap)", "\"'x'\", character 1", "unknown overlap 'x'; known are 'board', 'serial_kv', 'none'"),
        ("model < 3", "'model', character 1", "'model' is an input that names a preset"),
        ("abs(pass_time) < 3", "'abs', character 1", "unknown function 'abs'; known are 'min', 'max'"),
        ("cost_per_token < 0.5 USD/Mtokn", "'Mtokn', character 26", "quantity or unit 'Mtokn'; did you mean 'Mtoken'"),
        ("pass_time < 5 s*pass_tme", "'pass_tme', character 17", "did you mean 'pass_time'?"),
        ('__import__("os")', "'__import__', character 1", "unknown function '__import__'"),
        ("pass_time < lambda", "'lambda', character 13", "unknown quantity 'lambda'"),
    ],
)
def test_unknown_names(text, position, message):
    with pytest.raises(errors.UnknownName) as caught:
        parse_conditions(text)
    assert str(caught.value).startswith(f"condition {text!r}, at {position}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "given", [None, 3, b"pass_time < 3", {"a": 1}, [3], ["pass_time < 3", None], [["a < b"]], {"a"}]
)
def test_conditions_that_are_no_texts(given):
    with pytest.raises(errors.InputTypeError, match=r"expected a condition such as 'pass_time <= 50 ms'"):
        parse_conditions(given)


@pytest.mark.parametrize(
    ("text", "unit", "error", "message"),
    [
        (
            "pass_time",
            "byte",
            errors.UnitError,
            "formula 'pass_time', at 'pass_time', character 1: 'pass_time' is in s, but byte was expected",
        ),
        ("hbm_used", "byte", errors.UnitError, "is in byte/chip, but byte was expected"),
        ("50 MB", "s", errors.UnitError, "'50 MB' is in byte, but s was expected; cannot read '50 MB' as s"),
        ("2 * 3", "s", errors.UnitError, "'2 * 3' is in 1, but s was expected"),
        ("30 %", "token", errors.UnitError, "it is in percent"),
        ("pass_time", "ms", errors.UnitError, "'ms' is not made of base units"),
        ("pass_time < 3", None, ConditionError, "at '<', character 11: a formula holds no comparison"),
        ("pass_time and 3", None, ConditionError, "'and' joins comparisons"),
        ("overlap", None, ConditionError, "a choice is no number"),
        ("'none'", None, ConditionError, "a choice is no number"),
        ("", None, ConditionError, "formula '', at the end: the formula is empty"),
        ("pass_tme", None, errors.UnknownName, "formula 'pass_tme', at 'pass_tme', character 1: unknown quantity"),
        (3, None, errors.InputTypeError, "expected a formula such as 'cost_per_token * 2', got 3"),
    ],
)
def test_formulas_that_are_refused(text, unit, error, message):
    with pytest.raises(error) as caught:
        parse_formula(text, unit)
    assert message in str(caught.value)


# ------------------------------------------------------------------------------------------------------ hostile texts

HOSTILE = [
    "(" * 10_000,
    "(" * 9_000 + "1" + ")" * 900,
    "-" * 9_999,
    "1 < " * 2_000,
    "max(" * 2_000,
    "max(" + "1," * 4_000 + "1",
    "1/(" * 3_000,
    "1 s/(" * 2_000,
    "1 " + "s " * 4_900,
    "1 s" + "/s" * 4_000,
    "1 s*(s^2" * 1_200,
    "1 " + "(" * 5_000 + "s" + ")" * 4_000,
    "1 /" + "(" * 5_000 + "s" + ")" * 4_000,
    "1" * 9_999,
    "1" + ",000" * 2_400,
    "1_0" * 3_300,
    "1" * 4_000 + "e" + "9" * 4_000,
    "1 (((YFLOP^4)^4)^4)^4",
    "a" * 10_000,
    "pass_tim " * 1_100,
    "'" * 9_999,
    "$" * 9_999,
    "1 < 2 and " * 1_000,
    "pass_time\0 < 3",
    "\0",
    "pass_time < 3\ud800",
    "pass_time \u200b< 3",
    "pass_time < ٣",
    "\N{FULLWIDTH LATIN SMALL LETTER P}ass_time < 3",
    "\u202epass_time < 3",
    '__import__("os").system("true")',
    "pass_time < 3 # comment",
    "{pass_time} < 3",
    "pass_time < 3 if 1 else 2",
    "(lambda: 3)() < 3",
    "f'{pass_time}' < 3",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_refused_at_once(text):
    begun = time.process_time()
    for call in (parse_conditions, parse_formula):
        with pytest.raises(errors.RoofslateError) as caught:
            call(text)
        message = str(caught.value)
        assert len(message) < 600
        assert message.isprintable()
    assert time.process_time() - begun < 5.0


def test_the_limits_are_told():
    with pytest.raises(ConditionError, match=f"more than {MOST_BRACKETS} brackets in one another are not read"):
        parse_formula("(" * 10_000)
    with pytest.raises(ConditionError, match=f"more than {MOST_CHARACTERS} characters are not read"):
        parse_conditions("1" * 1_000_000)
    deepest = "(" * MOST_BRACKETS + "1" + ")" * MOST_BRACKETS
    assert parse_formula(deepest).steps == (("constant", 1.0),)
    with pytest.raises(ConditionError, match="brackets"):
        parse_formula(f"({deepest})")
    assert len(parse_formula(" + ".join(["(1)"] * 1_000)).steps) == 1_000
    assert parse_formula("1".ljust(MOST_CHARACTERS)).steps == (("constant", 1.0),)


WORDS = [
    "pass_time",
    "chips",
    "overlap",
    "'none'",
    "50",
    "0.5",
    "ms",
    "USD",
    "Mtoken",
    "k",
    "min",
    "max(",
    "sqrt(",
    "(",
]
WORDS += [
    ")",
    "+",
    "-",
    "*",
    "/",
    "<",
    "<=",
    "==",
    "and",
    "or",
    ",",
    "^",
    "**",
    "$",
    "%",
    "per",
    "inf",
    "x",
    " ",
    "1,000",
]


def refusal(call, text):
    """Return the error of a call for a text, None if it can be read."""
    try:
        call(text)
    except errors.RoofslateError as error:
        return str(error)
    return ""


@given(words=st.lists(st.sampled_from(WORDS), max_size=14), glue=st.sampled_from(["", " "]))
def test_any_words_are_read_or_refused(words, glue):
    for call in (parse_conditions, parse_formula):
        assert len(refusal(call, glue.join(words))) < 600


@given(text=st.text(max_size=40))
def test_any_text_is_read_or_refused(text):
    assert refusal(parse_conditions, text).isprintable()
    assert refusal(parse_formula, f"1 + {text}").isprintable()
