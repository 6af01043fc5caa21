"""Home things on a message broker: two ways of speaking (`homeassistant`, `twins`), one connection (`broker`)."""

__version__ = "0.2.0"
