"""Files config.json: public ones and class defaults with expected counts, and a plain one.

The plain one is for tests to change.
"""

import copy
import json

import roofslate as rs

from support import REFERENCE

FILES = json.loads((REFERENCE / "model_configs.json").read_text())["models"]
CONFIG = {entry["name"]: entry["config"] for entry in FILES}

LATE = json.loads((REFERENCE / "model_configs_2026.json").read_text())["models"]
KINDS = json.loads((REFERENCE / "model_configs_kinds.json").read_text())["models"]

PLAIN = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def read(base=PLAIN, /, **keys):
    """Return the model of a config with changed keys. ``...`` removes a key."""
    config = {**copy.deepcopy(base), **keys}
    selected = {key: value for key, value in config.items() if value is not ...}
    return rs.Model.from_config(selected, name="test", strict=False)
