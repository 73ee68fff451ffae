"""Simulations of services and pipelines, expert layers, ciphers, reversible networks."""
