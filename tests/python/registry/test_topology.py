"""Links of a domain by topology, against counted hops and published figures."""

from __future__ import annotations

import itertools
import math
import random
from collections import deque
from typing import TYPE_CHECKING, Any

import pytest
import roofslate as rs
from roofslate.errors import RoofslateError, ValueRangeError
from roofslate.grid.read import Settled
from support.checks import cases

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    Links = Mapping[Hashable, Sequence[Hashable]]

Graph = dict[Any, list[Any]]


def mean_distance(graph: Links, further: Links) -> float:
    """Mean links from chip to chip, itself included, with at most one further link."""
    total = 0
    for start in graph:
        hops = {(start, False): 0}
        queue = deque(hops)
        while queue:
            chip, crossed = queue.popleft()
            ahead = [(x, crossed) for x in graph[chip]]
            ahead += [(x, True) for x in further.get(chip, ())] if not crossed else []
            for state in ahead:
                if state not in hops:
                    hops[state] = hops[chip, crossed] + 1
                    queue.append(state)
        total += sum(min(n for (chip, _), n in hops.items() if chip == end) for end in graph)
    return total / len(graph) ** 2


def grid_of_chips(sides: Sequence[int], closed: Sequence[bool]) -> Graph:
    """Neighbors of each chip along each axis. Closed axes are rings."""
    graph: Graph = {}
    for corner in itertools.product(*map(range, sides)):
        ends = []
        for axis, step in itertools.product(range(len(sides)), (1, -1)):
            at = corner[axis] + step
            if closed[axis] or 0 <= at < sides[axis]:
                ends.append((*corner[:axis], at % sides[axis], *corner[axis + 1 :]))
        graph[corner] = ends
    return graph


def torus(sides: Sequence[int], **inputs: Any) -> dict[str, Any]:
    length, width, height = sides
    named = {"torus_length": length, "torus_width": width, "torus_height": height, "scale_up_domain": 10**6}
    return {"expert_parallel": length * width * height, **named, **inputs}


def test_hops_of_random_tori_and_meshes() -> None:
    drawn = random.Random(1)
    with cases() as case:
        for _ in range(12):
            sides = [drawn.randint(1, 5) for _ in range(3)]
            with case(str(sides)):
                for wiring in ("rings", "mesh"):
                    counted = mean_distance(grid_of_chips(sides, [wiring == "rings"] * 3), {})
                    computed = rs.value("mean_hops", Settled(torus(sides, torus_wiring=wiring)))
                    assert computed == pytest.approx(counted, rel=1e-12)


def test_a_block_of_a_torus_has_no_ring_along_an_axis_that_it_does_not_fill() -> None:
    sides = [4, 3, 5]
    for block in ([2, 1, 1], [3, 1, 1], [4, 1, 1], [4, 2, 1], [4, 3, 1], [4, 3, 2], [4, 3, 5]):
        counted = mean_distance(grid_of_chips(block, [a == b for a, b in zip(sides, block, strict=True)]), {})
        computed = rs.value("mean_hops", Settled(torus(sides, expert_parallel=block[0] * block[1] * block[2])))
        assert computed == pytest.approx(counted, rel=1e-12), block


def dragonfly(groups: int, chips: int, links: int, drawn: random.Random) -> tuple[Graph, Graph]:
    """Fully connected groups, and links between any two of them, at chips drawn by lot."""
    inside: Graph = {(g, c): [(g, x) for x in range(chips) if x != c] for g in range(groups) for c in range(chips)}
    between: Graph = {}
    for a, b in itertools.combinations(range(groups), 2):
        ends = (drawn.sample(range(chips), links) for _ in range(2))
        for c, d in zip(*ends, strict=True):
            between.setdefault((a, c), []).append((b, d))
            between.setdefault((b, d), []).append((a, c))
    return inside, between


def test_hops_of_random_dragonflies() -> None:
    drawn = random.Random(2)
    with cases() as case:
        for groups, chips, links in ((5, 4, 1), (9, 8, 1), (6, 3, 2), (4, 6, 4), (2, 5, 5), (7, 1, 1), (1, 6, 1)):
            with case(f"{groups} groups of {chips}, {links} links"):
                counted = mean_distance(*dragonfly(groups, chips, links, drawn))
                inputs = {"expert_parallel": groups * chips, "scale_up_domain": groups * chips}
                computed = rs.value(
                    "mean_hops", Settled(inputs), dragonfly_group=chips, global_links=links * (groups - 1) / chips
                )
                assert computed == pytest.approx(counted, rel=1e-12)


EXCHANGE: dict[str, Any] = {
    "model": "DeepSeek-V3", "input_tokens": 8000, "output_tokens": 1000, "concurrency": 4096, "weight_format": "fp8",
    "communication": "exposed", "scale_out_bandwidth": 6.25e9,
}  # fmt: skip


def exchange_time(chips: int, **inputs: Any) -> float:
    parts = {"chips": chips, "tensor_parallel": 1, "attention_data_parallel": chips, "pipeline_stages": 1}
    time = rs.value("all_to_all_time_per_token", Settled({**EXCHANGE, **parts, **inputs}))
    assert isinstance(time, float)
    return time * chips


def test_exchanges_of_64_and_1024_chips_differ_as_mean_hops_do() -> None:
    for system in ("TPU v4", "TPU v5p", "TPU 7x", "TPU 8t"):
        hops = [rs.value("mean_hops", hardware=system, chips=n) for n in (64, 1024)]
        assert hops == pytest.approx([3, 0.75 * 1024 ** (1 / 3)], rel=1e-12)
        few, many = (exchange_time(n, hardware=system) for n in (64, 1024))
        assert many / few == pytest.approx(hops[1] / hops[0], rel=1e-12)
    sides = {"torus_length": 8, "torus_width": 8, "torus_height": 16}
    few, many = exchange_time(64, hardware="TPU 7x"), exchange_time(1024, hardware="TPU 7x", **sides)
    assert rs.value("mean_hops", hardware="TPU 7x", chips=1024, **sides) == pytest.approx(8, rel=1e-12)
    assert many / few == pytest.approx(8 / 3, rel=1e-12)
    rings = exchange_time(1024, hardware="TPU 7x", torus_wiring="rings", **sides)
    assert rings / few == pytest.approx(4, rel=1e-12)  # the longest axis only


@pytest.mark.parametrize("n", [2, 4, 8, 64, 1024])
def test_collectives_of_a_ring_have_the_closed_form(n: int) -> None:
    """All-to-all V / 4W and all-reduce 2 V / W, for V bytes and both directions W."""
    ring: dict[str, Any] = {
        "scale_up_topology": "torus", "torus_dimensions": 1, "chips": n, "scale_up_domain": n,
        "scale_up_bandwidth": 90e9, "scale_out_bandwidth": 1e9, "layers": 1, "hidden_size": 1000,
    }  # fmt: skip
    sent = 1e6  # of each chip
    inputs = {**ring, "all_to_all_bytes_per_token": sent * n, "layout": "parallel", "all_to_all_slowdown": 1}
    assert rs.value("all_to_all_time_per_token", inputs) == pytest.approx(n * sent / (4 * 90e9), rel=1e-12)
    assert rs.value("mean_hops", ring) == pytest.approx(n / 4, rel=1e-12)
    array = 1000 * 2  # bytes, bf16
    reduced = rs.value("attention_link_time", {**ring, "tensor_parallel": n})
    assert reduced == pytest.approx(2 * array * (1 - 1 / n) / 90e9, rel=1e-12)


def small_sum(chips: int, **inputs: Any) -> float:
    """Messages in a row of one small all-reduce among all chips, at one second each."""
    given = {"chips": chips, "scale_up_domain": chips, "layers": 1, "collective_step_latency": 1, "tensor_parallel": 1}
    time = rs.value("collective_latency", Settled({**given, **inputs}))
    assert isinstance(time, float)
    return time


def farthest(sides: Sequence[int], closed: bool) -> int:
    """Links in a row to the farthest chip."""
    graph = grid_of_chips(sides, [closed] * len(sides))
    hops = {(0,) * len(sides): 0}
    queue = deque(hops)
    while queue:
        chip = queue.popleft()
        for end in graph[chip]:
            if end not in hops:
                hops[end] = hops[chip] + 1
                queue.append(end)
    return max(hops.values())


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 16, 33, 100])
def test_a_small_sum_on_a_ring_takes_the_links_to_the_farthest_chip(n: int) -> None:
    ring = {"scale_up_topology": "torus", "torus_dimensions": 1}
    assert small_sum(n, **ring) == pytest.approx(max(math.log2(n), n // 2), rel=1e-12)
    assert small_sum(n, **ring, torus_wiring="mesh") == pytest.approx(max(math.log2(n), n - 1), rel=1e-12)


def test_small_sums_on_tori_reach_the_farthest_chip() -> None:
    drawn = random.Random(3)
    with cases() as case:
        for _ in range(20):
            sides = [drawn.randint(1, 9) for _ in range(3)]
            chips = math.prod(sides)
            named = dict(zip(("torus_length", "torus_width", "torus_height"), sides, strict=True))
            for wiring in ("rings", "mesh"):
                with case(f"{sides}, {wiring}"):
                    expected = max(math.log2(chips), farthest(sides, wiring == "rings"))
                    assert small_sum(chips, **named, torus_wiring=wiring) == pytest.approx(expected, rel=1e-12)


def test_latency_of_64_and_1024_chips_differs_as_mean_hops_do() -> None:
    torus = {"scale_up_topology": "torus"}
    hops = {
        n: rs.value("mean_hops", Settled({"chips": n, "expert_parallel": n, "scale_up_domain": n, **torus}))
        for n in (64, 1024)
    }
    ratio = small_sum(1024, scale_up_topology="torus") / small_sum(64, scale_up_topology="torus")
    assert ratio == pytest.approx(hops[1024] / hops[64], rel=1e-12)


@pytest.mark.parametrize("chips", [1, 2, 3, 8, 64, 100, 1024])
def test_switches_and_small_groups_take_doublings(chips: int) -> None:
    for topology in ("crossbar", "dragonfly"):
        assert small_sum(chips, scale_up_topology=topology) == pytest.approx(math.log2(chips), rel=1e-15)
    # a block of eight chips on a line, and eight domains of a torus of four by four by four
    line = {"scale_up_domain": 64, "torus_length": 64, "torus_width": 1, "torus_height": 1}
    assert small_sum(8, **line) == pytest.approx(7, rel=1e-12)
    assert small_sum(512, scale_up_domain=64, scale_up_topology="torus") == pytest.approx(6 + 3, rel=1e-12)


def test_the_published_bisection_of_a_pod_bounds_its_exchange() -> None:
    """TPU v4: 24 TB/s across 4,096 chips. A quarter of the bytes crosses each way."""
    each = 1e6
    time = exchange_time(4096, hardware="TPU v4", all_to_all_bytes_per_token=each)
    assert time == pytest.approx(4096 / 4 * each / 24e12, rel=0.05)


def test_a_torus_slows_prompts_decode_and_training() -> None:
    served = {**EXCHANGE, "hardware": "H200", "chips": 16, "tensor_parallel": 1, "attention_data_parallel": 16}
    trained = {
        "model": "DeepSeek-V3", "hardware": "H200", "chips": 512, "tensor_parallel": 2, "expert_parallel": 16,
        "pipeline_stages": 8, "global_batch_size": 512, "sequence_length": 4096, "activation_policy": "all",
    }  # fmt: skip
    wired = {"scale_up_topology": "torus", "torus_length": 4, "torus_width": 4, "torus_height": 32}
    for name, inputs in (
        ("pass_time", served), ("time_per_output_token", served), ("prefill_latency", served),
        ("training_all_to_all_time", trained), ("tensor_collective_time", trained), ("stage_hop_time", trained),
        ("gradient_collective_time", trained), ("training_step_time", trained),
    ):  # fmt: skip
        domain = {**inputs, "scale_up_domain": 512}
        switched, torus_time = (rs.value(name, Settled({**domain, **extra})) for extra in ({}, wired))
        assert torus_time > switched * 1.01, name  # type: ignore[operator]
        assert rs.value(name, Settled({**domain, "scale_up_topology": "crossbar"})) == switched


def test_an_all_reduce_over_one_axis_has_a_third_of_the_links() -> None:
    inputs = {"hardware": "TPU v5p", "chips": 64, "layers": 1, "hidden_size": 1024, "pipeline_stages": 1}
    bandwidth = {n: rs.value("tensor_link_bandwidth", inputs, tensor_parallel=n) for n in (2, 4, 16, 64)}
    assert bandwidth == pytest.approx({2: 100e9, 4: 200e9, 16: 400e9, 64: 600e9}, rel=1e-12)
    assert rs.value("stage_link_bandwidth", inputs) == pytest.approx(600e9, rel=1e-12)


def test_copies_of_weights_add_up_over_the_axes_that_tensor_parallelism_leaves() -> None:
    inputs = {"hardware": "TPU v5p", "chips": 64, "tensor_parallel": 4, "pipeline_stages": 1}
    assert rs.value("dense_copy_link_bandwidth", inputs) == pytest.approx(400e9, rel=1e-12)
    assert rs.value("dense_copy_link_bandwidth", inputs, tensor_parallel=16) == pytest.approx(200e9, rel=1e-12)


def test_boardfly_takes_seven_hops_at_most_and_fewer_than_a_torus() -> None:
    boardfly = rs.value("mean_hops", hardware="TPU 8i", chips=1024)
    assert boardfly == pytest.approx(5.4, abs=0.05)
    assert boardfly < 7
    assert rs.value("mean_hops", hardware="TPU 8t", chips=1024) > 7.5


def test_rails_move_copies_inside_the_rack() -> None:
    racks = {"experts_per_token": 8, "expert_parallel": 16, "scale_up_domain": 8, "link_bandwidth_ratio": 1}
    assert rs.value("direct_all_to_all_slowdown", racks) == 0.5
    assert rs.value("direct_all_to_all_slowdown", racks, scale_out_topology="rail") == 0.5 + 0.5 * 7 / 8
    slow = {**racks, "link_bandwidth_ratio": 18}
    assert rs.value("direct_all_to_all_slowdown", slow, scale_out_topology="rail") == 9


def test_topologies_that_cannot_be_are_refused() -> None:
    with pytest.raises(RoofslateError, match="unknown scale_up_topology 'tours'; did you mean 'torus'"):
        rs.value("mean_hops", scale_up_topology="tours", chips=64, scale_up_domain=64)
    with pytest.raises(ValueRangeError, match="torus_dimensions"):
        rs.value("mean_hops", torus_dimensions=4, chips=64, scale_up_domain=64)
    with pytest.raises(ValueRangeError, match=r"dragonfly_group.*scale_up_domain"):
        rs.value("mean_hops", dragonfly_group=128, chips=64, scale_up_domain=64)


def test_sides_without_a_torus_have_no_effect() -> None:
    with pytest.raises(RoofslateError, match="torus_width"):
        rs.value("pass_time", EXCHANGE, hardware="H200", chips=8, torus_width=2)
