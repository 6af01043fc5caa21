"""Measure Hearth: metrics as their sources define them, data sets in the plan format, and suites that join the two."""

__version__ = "0.2.0"
