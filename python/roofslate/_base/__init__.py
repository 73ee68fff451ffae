"""Helpers that know nothing of the field: messages, files, TOML, progress, threads, versions."""
