"""Measured runs: readers, fits, validation."""
