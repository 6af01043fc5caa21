"""The shipped tools: plug-ins like any other, each module ending in the tuple `TOOLS`; nothing is imported here.

In: typed arguments and a `CallContext`. Out: plain data; changes through the workspace only.
Here: `abilities`, `calculator` (with `arithmetic` and `unit_conversion`), `clock`, `files`, `memory`, `notes`; rooms
`pim` (calendar, contacts, reminders), `mail` and `foreign` (tools of MCP servers).
Not here: permission (no tool knows the guard), devices and video (`hearth-home`, `hearth-video`), `ask_cloud` (`edge`).
"""
