"""Tools of other programs' MCP servers, as tools of this home.

In: servers that the owner named in `hearth.toml`, and accepted. Out: tools named `SERVER__tool`, which ask before they
are called unless the owner says that they only read.
Here: `mcp_tools` (the tools), `accepted_tools` (what the owner accepted, kept in the home), `mcp_connection` (speaks to
a server), `server_settings` (writes a server into `hearth.toml`).
Not here: Hearth as a server (`serve.programs.mcp_server`), permission (`guard`).
"""
