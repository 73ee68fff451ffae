"""Timetables of trains and pipelines, ciphers and reversible networks."""
