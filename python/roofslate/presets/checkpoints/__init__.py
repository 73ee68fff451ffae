"""Headers of checkpoint files: lists of tensors, read within limits."""
