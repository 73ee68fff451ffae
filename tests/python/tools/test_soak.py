"""The soak: all calls take part, and differences and growth are found."""

from __future__ import annotations

import gc
import itertools
import mmap

import pytest
import soak


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("fresh_catalogs")
def test_calls_from_several_threads_have_one_answer() -> None:
    codes = soak.drawn(1)
    assert {code.partition("(")[0] for code in codes} >= {
        "rs.evaluate", "rs.value", "rs.frame", "rs.best", "rs.solve", "rs.deploy", "rs.sample",
    }  # fmt: skip
    run = soak.soak(codes, 1.0, threads=4, every=0.5)
    assert run.differences == []
    assert run.answers > 0
    assert run.memory


def test_another_answer_is_seen() -> None:
    numbers = itertools.count()
    run = soak.soak(["a", "b"], 30.0, threads=2, ask=lambda code: f"{code} {next(numbers) // 100}", every=0.05)
    assert run.differences[0].startswith(("a\n  first: a 0\n", "b\n  first: b 0\n"))


def test_growth_is_that_of_the_end_beyond_the_middle() -> None:
    filling = [100.0, 180.0, 200.0, 200.0]
    assert soak.Soak(memory=[*filling, *[200.0, 201.0, 199.0] * 12]).growth == pytest.approx(0, abs=1)
    assert soak.Soak(memory=[*filling, *(200.0 + 0.5 * k for k in range(36))]).growth > soak.MOST_GROWTH


def test_memory_that_is_kept_is_seen() -> None:
    before = soak.resident()
    pages = mmap.mmap(-1, 20_000_000)  # separate pages, as an allocator may have some left
    pages.write(bytes(20_000_000))
    gc.collect()
    assert soak.resident() - before == pytest.approx(20, abs=3)
    pages.close()
    assert soak.resident() - before == pytest.approx(0, abs=3)
