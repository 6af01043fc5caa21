"""Commands about devices.

In: a command line and the home. Out: lines for a person or JSON.
Here: `device_commands` (`hearth devices`), `point_command` (`hearth edge point`, for a KubeEdge node).
Not here: the connection and its protocols (`hearth_home`).
"""
