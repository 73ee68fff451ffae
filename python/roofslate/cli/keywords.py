"""Keywords of calls that are no inputs, by command, with the kind of their values."""

from __future__ import annotations

__all__ = ["KEYWORDS", "POSITIONAL"]

# By command, the keywords of its call in Python and the kinds of their texts.
KEYWORDS: dict[str, dict[str, str]] = {
    "evaluate": {"bands": "number"},
    "plot": {"x": "axis", "y": "axis", "hue": "axis", "bands": "number"},
    "summary": {"bands": "number", "stale_after": "word"},
    "validate": {"bands": "number"},
    "solve": {"unknown": "quantity", "condition": "condition", "at": "word", "integer": "flag"},
    "best": {
        "objective": "quantity",
        "over": "axes",
        "where": "conditions",
        "maximize": "flag",
        "also": "quantities",
        "prune": "flag",
    },
    "deploy": {
        "objective": "quantity",
        "where": "conditions",
        "maximize": "flag",
        "also": "quantities",
        "prefill": "inputs",
    },
}


# Keywords that need no name, in their order.
POSITIONAL: dict[str, tuple[str, ...]] = {
    "solve": ("unknown", "condition"),
    "best": ("objective",),
    "deploy": ("objective",),
}
