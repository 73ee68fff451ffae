"""Keywords of presets, as calls and conditions take them, and the keyword of a day."""

__all__ = ["DAY", "PRESET_KEYWORDS"]

DAY = "as_of"  # asks for the prices of a day

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
    "site",
    "engine",
)
