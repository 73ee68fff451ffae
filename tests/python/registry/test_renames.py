"""Former names lead to present ones. Ideal values, and dependencies."""

import pytest
import roofslate as rs
from roofslate.errors import UnknownName
from roofslate.registry.registry import current, entries, renamed

OLD, NEW = "kv_bytes_from_architecture", "kv_bytes_per_token"

CALLS = {
    "output": lambda: rs.value(OLD, layers=1),
    "input": lambda: rs.value("pass_time", **{OLD: 1}),
    "evaluate": lambda: rs.evaluate([OLD], layers=[1, 2]),
    "condition": lambda: rs.count(f"{OLD} < 1 kB/token", layers=[1, 2]),
    "derivative": lambda: rs.gradient("pass_time", to=OLD, batch_size=1),
    "definition": lambda: rs.define("twice", "byte/token", f"2 * {OLD}", brief="two caches"),
    "quantity": lambda: rs.quantity(OLD),
}


@pytest.mark.parametrize("call", CALLS)
def test_the_error_for_an_old_name_tells_the_new_one(call):
    with pytest.raises(UnknownName, match=f"{OLD}'?: it is called '{NEW}' now"):
        CALLS[call]()


def test_a_name_that_means_two_things_is_asked_for():
    with pytest.raises(UnknownName, match=r"'request_rate': give 'arrival_rate'.*or 'request_throughput', .*answered"):
        rs.value("request_rate", concurrency=4)


def test_new_names_exist_and_old_ones_do_not():
    assert set(renamed().values()) <= entries().keys()
    assert not renamed().keys() & entries().keys()


def test_an_ideal_machine_is_the_default():
    ideal = {name: q.ideal for name, q in entries().items() if q.ideal is not None}
    assert len(ideal) >= 13
    assert ideal == {name: entries()[name].default for name in ideal}


def test_what_reaches_what_whatever_a_call_gives():
    assert current().reaches("link_efficiency", "pass_time")
    assert current().reaches("kv_heads", "pass_time")  # through a quantity that may be given
    assert current().reaches("concurrency", "running_sequences")
    assert not current().reaches("prefill_utilization", "pass_time")
    assert not current().reaches("pass_time", "pass_time")
