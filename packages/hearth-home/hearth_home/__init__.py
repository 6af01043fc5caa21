"""The home's devices: lamps, heating, doors and sensors, over MQTT.

In: messages of a broker, orders of the owner. Out: states, observations, messages that order a change. Adds
`hearth devices`, `hearth edge point`, tools, names of rooms and devices, and a listener.
Here: `home_assistant` (with `discovery_messages`), `assistant_states` (its websocket) and `device_twins` (protocols),
`mqtt_broker` (one connection, and its settings), `connected_devices`, `sensor_watch`; rooms `tools`, `kubeedge`, `cli`.
Not here: permission (`hearth.guard`), the seam `Sensor` (`hearth.protocols`), `[home]` settings (`hearth.config`).
"""

__version__ = "0.2.0"
