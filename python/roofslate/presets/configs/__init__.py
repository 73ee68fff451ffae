"""The shape of a model, read from its config.json."""

from __future__ import annotations

from roofslate.presets.configs.attention import KVCache
from roofslate.presets.configs.formats import Formats, bits_in, bits_of
from roofslate.presets.configs.layers import Layer
from roofslate.presets.configs.shape import Shape, read_shape

__all__ = ["Formats", "KVCache", "Layer", "Shape", "bits_in", "bits_of", "read_shape"]
