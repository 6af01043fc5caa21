"""Tools for devices of the home, and their names for planners.

In: names of rooms and devices, wanted states. Out: what is so now; orders, confirmed where a device says so.
Here: `home` (the tools, group `hearth.tools`), `devices` (devices of `[home]` and of the broker; names for planners,
group `hearth.entities`).
Not here: broker and protocols (`hearth_home`), permission (`hearth.guard`).
"""
