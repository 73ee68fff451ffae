"""Calls that compute: `value`, `evaluate`, `frame`, `sweep`."""
