"""The version of all five distributions."""

__version__ = "0.2.0"
