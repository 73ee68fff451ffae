"""Scenarios of explanations: a replica of today, and the lecture's."""

from __future__ import annotations

from typing import Any

CELL: dict[str, Any] = {
    "model": "DeepSeek-V3",
    "hardware": "GB200 NVL72",
    "batch_size": 2400,
    "context_length": "10k",
    "chip_price": "2 USD/h",
}
BOARD: dict[str, Any] = {
    "model": "DeepSeek-V3 (lecture)",
    "expert_reads": "all",
    "hardware": "BW72 (lecture)",
    "prices": "lecture",
    "batch_size": 2400,
    "context_length": "10k",
}
