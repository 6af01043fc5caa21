"""The shipped tools: plug-ins like any other, each module ending in the tuple `TOOLS`; nothing is imported here.

In: typed arguments and a `CallContext`. Out: plain data; changes through the workspace only.
Here: `abilities`, `calculator` (with units), `clock`, `files`, `memory`, `notes`, `foreign` (tools of MCP servers);
rooms `pim` (calendar, contacts, reminders) and `mail`.
Not here: permission (no tool knows the guard), devices and video (`hearth-home`, `hearth-video`), `ask_cloud` (`edge`).
"""
