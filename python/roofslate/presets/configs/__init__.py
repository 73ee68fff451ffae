"""The shape of a model, read from its config.json."""

from __future__ import annotations

from roofslate.presets.configs.attention import Cache
from roofslate.presets.configs.formats import BITS, Formats, bits_in
from roofslate.presets.configs.layers import Layer
from roofslate.presets.configs.shape import Shape, read_shape

__all__ = ["BITS", "Cache", "Formats", "Layer", "Shape", "bits_in", "read_shape"]
