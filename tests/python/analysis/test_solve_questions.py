"""solve: random questions against a scan of the condition, and earlier defects."""

import math

import pytest
import roofslate as rs
from support.solve_questions import MANY, REFUSED, complaints, draw
from support.solving import CLOSE, near, solve

SLICE, MORE = 60, 600  # seeds; every other one has usual sizes
# of questions, any of the three views: 2.3% of 22,057 (seeds 400000 to 450000). Most have a plateau at their limit, or
# take the difference of two terms that nearly cancel. None of 3,600 answers is wrong (seeds 500000 to 508000).
MOST_UNDECIDED = 0.04


def asked(seeds):
    """Count questions and undecided ones, and list wrong answers."""
    count = undecided = 0
    wrong = {}
    for seed in seeds:
        question = draw(seed, absurd=seed % 2 == 1)
        if question is None:
            continue
        try:
            said, gave_up = complaints(question)
        except REFUSED:
            continue
        count += 1
        undecided += gave_up
        if said:
            wrong[seed] = (question.unknown, question.condition, *said)
    return count, wrong, undecided


@pytest.mark.parametrize("part", range(4))
def test_answers_agree_with_a_scan(part):
    count, wrong, undecided = asked(range(part * SLICE, part * SLICE + SLICE))
    assert count > SLICE / 4
    assert not wrong
    assert undecided <= MOST_UNDECIDED * count + 1


@pytest.mark.long
def test_more_answers_agree_with_a_scan():
    count, wrong, undecided = asked(range(1000, 1000 + MORE))
    assert count >= 0.4 * MORE  # the others cannot be answered: their inputs contradict each other
    assert not wrong
    assert undecided <= MOST_UNDECIDED * count


def views(unknown, condition, **given):
    answers = [solve(unknown, condition, at=at, **given) for at in ("smallest", "largest", "all")]
    values = [x for x in answers[2].to_numpy().tolist() if not math.isnan(x)]
    return answers[0].item(), answers[1].item(), values, [a["reason"].item().partition(":")[0] for a in answers]


BASE = {"loss_size_coefficient": 406.4, "loss_data_coefficient": 410.7}
STEEP = {
    "loss_size_coefficient": 0.08723402850486346,
    "loss_unit_size": 1495644385.197403,
    "loss_data_exponent": 37.09028580324921,
    "loss_size_exponent": 15.0,
    "loss_data_coefficient": 2.0653026647839536,
}
FLAT = {
    "loss_size_exponent": 1.0,
    "loss_data_coefficient": 0.8213090179667684,
    "loss_unit_size": 27091617731.517296,
    "loss_size_coefficient": 43.335825959235976,
    "loss_data_exponent": 15.07182861162626,
}


def test_more_solutions_than_anybody_reads_are_many():
    smallest, largest, values, reasons = views("experts", "leftover_experts >= 5", expert_parallel=16)
    assert smallest == near(5)
    assert values[:4] == [near(5), near(16), near(21), near(32)]
    assert len(values) >= MANY
    assert reasons == ["", "", "many"]
    assert largest > values[-1]
    assert rs.value("leftover_experts", experts=largest, expert_parallel=16) >= 5
    answer = solve("experts", "leftover_experts >= 5", at="all", expert_parallel=16)
    assert answer["reason"].item().startswith("many: the first are given, the search ended between ")


@pytest.mark.parametrize(
    ("unknown", "condition", "given", "solutions"),
    [
        # 1 / (a N^-x), whose divisor underflows: never -0
        (
            "loss_size_exponent",
            "compute_optimal_tokens_per_parameter < 1.3142608432500954e-06",
            {
                "loss_data_exponent": 2.0,
                "loss_data_coefficient": 410.7,
                "loss_size_coefficient": 592.5209056807105,
                "active_parameters": 18612000000.0,
            },
            [2.316870815159614e-09, 0.8331031547938977],
        ),
        # (a + x) / (1 + x): a sum has the elasticity of its larger term
        (
            "draft_length",
            "emitted_length < 1.0086630039961118",
            {"sampled_length": 4.0, "acceptance_rate": 0.0},
            [345.30019810062936],
        ),
        # powers that fall by steps of the smallest numbers, to 0
        (
            "loss_data_exponent",
            "budget_optimal_parameters == 2.120762466373415",
            {
                "compute_budget": 35579650662.94941,
                "training_flops_per_parameter": 2.0,
                "loss_unit_size": 497641859.0247608,
                "loss_unit_tokens": 3071493.135547593,
                "loss_size_coefficient": 0.00020327179638565527,
                "loss_data_coefficient": 2.0,
                "loss_size_exponent": 0.3,
            },
            [0.010772424350641999, 0.4943456617504541],
        ),
        # on both sides of 1 within rounding: once "always" for all relations
        (
            "routing_experts_exponent",
            "routing_cutoff_parameters > 1.0",
            {"routing_interaction": 0.000258823289023446},
            [-1.609858122498838e-18],
        ),
        # holds on both sides of a pole at 0
        ("peak_flops_in_format", "0 * peak_flops_in_format <= 1 FLOP/s/chip", {}, []),
    ],
)
def test_solutions_at_the_ends_of_what_doubles_hold(unknown, condition, given, solutions):
    smallest, largest, values, reasons = views(unknown, condition, **given)
    assert values == pytest.approx(solutions, rel=1e-9)
    assert [smallest, largest] == ([values[0], values[-1]] if values else pytest.approx([math.nan] * 2, nan_ok=True))
    assert reasons == ["" if solutions else "always"] * 3


@pytest.mark.parametrize(
    ("unknown", "condition", "given", "solutions", "reason"),
    [
        # the root of a logarithm of 1 + x^2, which bounds had fall below zero where x is small
        ("input_cv", "input_length_ratio <= 8.555465054209337", {}, [1.9999999999999991, 306.716558299685], ""),
        # tokens over an optimum that has underflowed are infinite: nothing but rounding is left of the sum
        (
            "pretraining_tokens",
            "equal_loss_parameters == 9.738210394632884e+30",
            {
                "active_parameters": 51087558835.83668,
                "loss_size_exponent": 0.2,
                "loss_data_exponent": 1.7580667871167683e-05,
                "loss_data_coefficient": 410.7,
                "loss_size_coefficient": 874000.7862361992,
            },
            [],
            "always",
        ),
        # a steep root at the closed end of a range, with a pole beyond it
        (
            "slot_wait_probability",
            "crowded_running_sequences == 0",
            {
                "mean_slots_taken": 0,
                "sequence_slots": 128,
                "unlimited_running_sequences": 128,
                "slot_line_odds": 0.999999,
                "replica_arrival_rate": 35,
                "replica_arrival_variation": 2,
                "length_memory": 0.37,
                "prompt_work_variance": 0.0016,
                "prompt_time_share": 1.4,
                "single_sequence": 1,
            },
            [1.0],
            "",
        ),
        # a kink whose tip touches the limit
        ("feed_forward_instance_time", "instance_balance == 1", {"attention_instance_time": 0.004}, [0.004], ""),
        # only at the lower end, below a jump
        (
            "dragonfly_group",
            "link_imbalance == 26.473309090909094",
            {
                "hardware": "RTX PRO 6000",
                "exchange_chips": 5,
                "chips": 16000,
                "torus_wiring": "rings",
                "dragonfly_board": 4,
                "dragonfly_links": 9.1002,
            },
            [4.0, 5.0, 8.0],
            "",
        ),
        # at the lower end within rounding, from where the sides go apart
        (
            "experts",
            "optimizer_state_bytes == 541596843.8240001",
            {
                "model": "MiniMax-M3-NVFP4",
                "hardware": "TPU 8t pod",
                "optimizer_bytes_per_weight": 12,
                "matrices_per_expert": 3,
                "lora_rank": 11,
                "pipeline_stages": 61,
            },
            [4.0, 39662.523],
            "",
        ),
        # at a single value above a pole, and nowhere around it
        (
            "dragonfly_board",
            "dragonfly_load <= 1",
            {"expert_parallel": 136, "scale_up_domain": 30, "global_links": 1},
            [1.0, 30.0],
            "",
        ),
        # 0 / 0 at the end of the range is no root, but its neighbors are
        ("acceptance_rate", "(1 - acceptance_rate) / (1 - acceptance_rate) == 1", {}, [0.0, 1 - 2.4e-15], ""),
    ],
)
def test_where_bounds_told_too_little(unknown, condition, given, solutions, reason):
    smallest, largest, values, reasons = views(unknown, condition, **given)
    assert values == pytest.approx(solutions, rel=1e-9)
    assert reasons == [reason] * 3
    assert [smallest, largest] == ([values[0], values[-1]] if values else pytest.approx([math.nan] * 2, nan_ok=True))
    if values:
        assert values[-1] <= solutions[-1] * (1 + 1e-15)


@pytest.mark.parametrize(
    ("unknown", "condition", "given", "solution"),
    [
        # a share of exactly 0, whose bounds were widened above it
        (
            "input_tokens",
            "prefix_bytes > 0.0",
            {
                "turns": 9.0,
                "turn_input_tokens": 2.0,
                "first_prompt_tokens": 38.0,
                "kept_output_share": 0.438,
                "output_tokens": 2529.0,
                "hbm_prefix_cache": 167085656.2993776,
                "session_rate": 3.9,
                "layers": 69.0,
                "kv_heads": 21.0,
                "head_size": 58.0,
                "kv_format": "int4",
                "bytes_per_kv_bit": 0.0013689020519540237,
                "kept_head_share": 0.11,
                "pause_time": 38.0,
                "pause_cv": 0.0,
                "prefill_chunk": 322014.76661649876,
                "shared_layer_reads": "each",
                "kv_compression": 0.6259410418795893,
            },
            322014.76661649876,
        ),
        # the root of a sum of squares, which bounds had fall below zero
        (
            "first_prompt_tokens",
            "session_fresh_input_cv == 0.7316861857674467",
            {
                "turns": 2.0767,
                "turns_distribution": "geometric",
                "input_tokens": 2943.0,
                "turn_input_tokens": 899.7898001261194,
                "kept_output_share": 0.8615092127144911,
                "output_tokens": 60.0,
                "session_rate": 1.8211,
                "layers": 62.0,
                "kv_heads": 245.7203616324372,
                "head_size": 160.0,
                "kv_format": "fp8",
                "bytes_per_kv_bit": 4.0,
                "attention_window": 7757.0,
                "index_bytes_per_token": 7.0,
                "pause_time": 50570.80362286253,
            },
            20.256944676418364,
        ),
    ],
)
def test_one_solution_where_bounds_were_none(unknown, condition, given, solution):
    smallest, largest, values, reasons = views(unknown, condition, **given)
    assert values == [smallest] == [largest] == [near(solution)]
    assert reasons == ["", "", ""]


@pytest.mark.parametrize(
    ("unknown", "condition", "given", "values", "reason"),
    [
        # a domain divided by itself
        ("scale_up_domain", "other_groups <= 0", {}, [], "always"),
        ("scale_up_domain", "minimal_global_links > 0", {}, [], "never"),
        ("scale_up_domain", "group_pair_links == 0", {}, [], "always"),
        ("chips", "global_hops == 0", {"scale_up_domain": 4096.0}, [], "always"),
        # a part of an axis, or all of it
        ("chips", "width_load == 4.0", {"scale_up_domain": 4096.0, "torus_wiring": "twisted"}, [4096.0, math.inf], ""),
        # racks less one, relative to racks, at 2.4 million steps
        (
            "scale_up_domain",
            "leaving_copies <= 53.17454551700769",
            {"experts_per_token": 53.17457, "expert_parallel": 2391356.0},
            [1.1010443400196532],
            "",
        ),
        # the overtraining optimum rises with its second argument, but slower
        (
            "loss_size_exponent",
            "optimal_inference_training_ratio == 17943370221040.6",
            {
                "balanced_pretraining_tokens": 18e12,
                "loss_data_exponent": 14759.716321244046,
                "loss_data_coefficient": 8.0,
                "loss_from_size": 0.2390145522266404,
            },
            [0.05612611124139159],
            "",
        ),
    ],
)
def test_common_parts_cancel(unknown, condition, given, values, reason):
    *_, roots, reasons = views(unknown, condition, **given)
    assert roots == pytest.approx(values, rel=1e-6)
    assert reasons == [reason] * 3


def test_choices_by_what_is_no_number():
    """At a peak share of 1 / 0, the larger load is inf - inf, which meets no condition."""
    given = {
        "concurrency": 38.05220681730751,
        "chips": 10000.0,
        "hbm_capacity": 71598711789.56786,
        "layers": 43.0,
        "weight_format": "mxfp4",
        "total_parameters": 18717735948.099148,
        "dense_layers": 42.0,
        "hidden_size": 9209.788152981457,
        "expert_intermediate_size": 46600.0,
        "pipeline_stages": 4.0,
        "lora_rank": 1.0,
        "attention_heads": 17.0,
        "kv_heads": 17.0,
        "head_size": 74.0,
        "experts": 543.0,
        "kv_format": "bf16",
        "context_length": 10.0,
        "active_parameters": 4715832019.52781,
        "peak_flops_bf16": 724670000000000.0,
        "peak_flops_fp4": 1.697e16,
        "experts_per_token": 2.8004039207738165,
        "kernel_shares": "measured",
        "expert_popularity_cv": 0.3782426444194675,
        "arithmetic": "full",
        "attention_peak_share_bf16": 0.2770435492901067,
    }
    *_, reasons = views("lora_adapters", "compute_time < 1.6027088636878872e-07", **given)
    assert "undecided" not in reasons


def test_the_first_power_of_a_sum_has_no_noise():
    """(1 - x^n) / (1 - x) rises to n, though near 1 rounding shakes it by much."""
    *_, reasons = views("acceptance_rate", "acceptance_length <= 3", draft_length=2.0)
    assert reasons == ["always"] * 3
    *_, reasons = views("acceptance_rate", "speculation_compute_factor == 1", draft_length=0.0)
    assert set(reasons) <= {"always"}


def test_a_root_among_absurd_values_is_found_or_admitted():
    value = rs.value("budget_optimal_tokens", compute_budget=89823.0, **FLAT)
    smallest, largest, _, reasons = views("compute_budget", f"budget_optimal_tokens == {value!r}", **FLAT)
    assert largest == near(89823)
    assert smallest == near(89823) or reasons[0] == "undecided"
    given = {"rising_coefficient": 3.554024825383971, "falling_coefficient": 1.3029940791464063}
    smallest, _, values, reasons = views("falling_exponent", "least_falling_cost == 0.11527475557461574", **given)
    assert smallest == near(33.169473784332574)
    assert values == [smallest]
    assert reasons[1] in ("", "undecided")


@pytest.mark.parametrize(
    ("unknown", "start", "other"),
    [
        ("loss_data_exponent", 0.28, {"loss_size_exponent": 0.34}),
        ("loss_size_exponent", 0.34, {"loss_data_exponent": 0.28}),
    ],
)
def test_the_ends_are_those_of_all(unknown, start, other):
    given = {**BASE, **other, "compute_budget": 5.76e23}
    value = rs.value("budget_optimal_parameters", {**given, unknown: start})
    smallest, largest, values, reasons = views(unknown, f"budget_optimal_parameters == {value!r}", **given)
    assert values == [smallest, largest]
    assert largest == near(start)
    assert reasons == ["", "", ""]


def test_underflow_and_overflow_are_no_roots():
    condition = "compute_optimal_tokens_per_parameter == 1.8108101821421834e-10"
    smallest, _, values, reasons = views("active_parameters", condition, **STEEP)
    assert smallest == near(16119509343.0)
    assert values == [smallest]
    assert reasons[1] in ("", "undecided")


def test_where_a_stepwise_value_has_a_closed_end():
    smallest, _, values, _ = views("experts", "leftover_experts <= 0", expert_parallel=8)
    assert smallest == 0
    assert values[:4] == [0, 8, 16, 24]


def test_a_constant_but_for_rounding():
    for relation, reason in (("<=", "always"), (">=", "always"), ("<", "never"), ("==", "always")):
        *_, reasons = views("batch_size", f"0.3 seq * batch_size / batch_size {relation} 0.3 seq")
        assert reasons == [reason] * 3


def test_a_difference_that_saturates():
    """max(x + a, m) - max(x, m): only rounding makes the sign far beyond m."""
    condition = "max(compute_time + 0.02 s, 0.013 s) - max(compute_time, 0.008 s) == 0.013 s"
    smallest, largest, values, reasons = views("compute_time", condition)
    assert smallest == near(0.001)
    assert largest == smallest
    assert values == [smallest]
    assert reasons == ["", "", ""]


@pytest.mark.parametrize(
    ("condition", "given", "values"),
    [
        ("experts_per_chip <= 3.5", {"expert_parallel": 2.0}, [7]),
        ("experts_per_chip < 3", {"expert_parallel": 2.0}, [5]),
        ("experts_per_chip == 3.5", {"expert_parallel": 2.0}, [7]),
        ("experts_per_chip == 3.25", {"expert_parallel": 2.0}, []),
        ("min(experts, 100 / experts) >= 3.5", {}, [4, 28]),
        ("min(experts, 100 / experts) >= 9.95", {}, [10]),
        ("min(experts, 100 / experts) >= 11", {}, []),
    ],
)
def test_whole_numbers(condition, given, values):
    answers = {at: solve("experts", condition, at=at, integer=True, **given) for at in ("smallest", "largest", "all")}
    assert answers["all"].to_numpy().tolist() == values
    ends = [values[0], values[-1]] if values else [math.nan] * 2
    assert [answers[at].item() for at in ("smallest", "largest")] == pytest.approx(ends, rel=CLOSE, nan_ok=True)
    assert {answer["reason"].item() for answer in answers.values()} == {"" if values else "never"}
