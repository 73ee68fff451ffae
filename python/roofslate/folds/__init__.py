"""Reductions of a grid, one module each."""
