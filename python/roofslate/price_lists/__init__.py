"""Inference from price lists: relations, verdicts, result."""
