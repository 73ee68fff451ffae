"""Reductions of a grid: one file a fold."""
