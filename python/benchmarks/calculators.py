"""Public calculators of transformer inference: time per estimate of a decode step."""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import warnings
from typing import TYPE_CHECKING, Any

from benchmarks.report import Section, line_of
from benchmarks.timing import Contender, ratio, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.machine import Size

__all__ = ["measure_calculators"]

_BATCH, _CONTEXT, _CHIPS = 64, 8192, 8


def _llm_analysis() -> Callable[[], Any]:
    """Set up llm-analysis, with a similar model: the MLP size must be a multiple of the width."""
    analysis: Any = importlib.import_module("llm_analysis.analysis")
    config: Any = importlib.import_module("llm_analysis.config")
    model = config.ModelConfig(
        name="dense", num_layers=80, n_head=64, num_key_value_heads=8, hidden_dim=8192, vocab_size=128256,
        max_seq_len=131072, ffn_embed_dim=32768,
    )  # fmt: skip
    chip = config.GPUConfig(
        name="H100", mem_per_GPU_in_GB=80, hbm_bandwidth_in_GB_per_sec=3350, intra_node_bandwidth_in_GB_per_sec=450,
        intra_node_min_message_latency=8e-6, peak_fp16_TFLOPS=989,
    )  # fmt: skip
    one = analysis.LLMAnalysis(
        model,
        chip,
        parallelism_config=config.ParallelismConfig(tp_size=_CHIPS),
        flops_efficiency=1,
        hbm_memory_efficiency=1,
    )
    return lambda: one.inference(batch_size_per_gpu=_BATCH, seq_len=_CONTEXT, num_tokens_to_generate=1)


def _genz() -> Callable[[], Any]:
    genz: Any = importlib.import_module("GenZ")
    return lambda: genz.decode_moddeling(
        model="meta-llama/Llama-3.1-70B", batch_size=_BATCH, Bb=1, input_tokens=_CONTEXT, output_tokens=1,
        system_name="H100_GPU", bits="bf16", tensor_parallel=_CHIPS,
    )  # fmt: skip


_CALCULATORS: dict[str, Callable[[], Callable[[], Any]]] = {"llm-analysis": _llm_analysis, "genz-llm": _genz}


def measure_calculators(how: Size) -> Section:
    """Time one estimate of a decode step of a 70 B dense model on 8 H100."""
    from roofslate.evaluation.value import value

    given: dict[str, Any] = {
        "model": "Llama-3.1-70B",
        "hardware": "H100 SXM",
        "chips": _CHIPS,
        "batch_size": _BATCH,
        "context_length": _CONTEXT,
    }
    mine = Contender("rs.value of pass_time, presets", lambda: value("pass_time", **given), calls=100 * how.rounds)
    section = Section("Public calculators: one estimate of a decode step, a dense model of 70 B on 8 H100")
    rivals = []
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)  # llm-analysis logs pages
        try:
            for name, calculator in _CALCULATORS.items():
                try:
                    run = calculator()
                except ImportError as error:
                    section.notes.append(f"{name}: skipped, {error.name or error} is not installed")
                    continue
                rivals.append(Contender(name, run))
            take_turns([mine, *rivals], how.rounds)
        finally:
            logging.disable(logging.NOTSET)
    section.lines = [line_of(mine, "")]
    section.lines += [line_of(c, "", ratio(c, mine), "takes {:,.0f} x as long") for c in rivals]
    if rivals:
        section.notes.append("the others compute each operation of a layer, llm-analysis also the prefill")
    return section
