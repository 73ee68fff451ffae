"""The shape of a model, read from its config.json."""

from roofslate.configs.formats import BITS, Formats, bits_in
from roofslate.configs.layers import Cache, Layer
from roofslate.configs.shape import Shape, read_shape

__all__ = ["BITS", "Cache", "Formats", "Layer", "Shape", "bits_in", "read_shape"]
