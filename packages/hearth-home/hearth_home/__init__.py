"""Home devices on a message broker: two protocols (`home_assistant`, `device_twins`), one connection
(`mqtt_broker`)."""

__version__ = "0.2.0"
