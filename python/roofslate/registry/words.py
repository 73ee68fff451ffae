"""Keywords of presets, as calls and conditions take them."""

__all__ = ["PRESET_KEYWORDS"]

PRESET_KEYWORDS = (
    "model",
    "hardware",
    "prices",
    "loss_law",
    "calibration",
    "storage",
    "api_prices",
    "speculator",
    "workload",
)
