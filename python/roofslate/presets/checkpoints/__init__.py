"""Headers of checkpoint files: which tensors they hold, read within limits, no weight loaded."""
