"""Plots of any result, charts as objects, sliders."""
