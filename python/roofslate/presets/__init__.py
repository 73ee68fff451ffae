"""Sourced numbers by name: chips, models, prices, calibrations, layouts, config.json."""
