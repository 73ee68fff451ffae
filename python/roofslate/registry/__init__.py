"""Quantities as Python sees them, values checked against them, definitions and conditions."""
