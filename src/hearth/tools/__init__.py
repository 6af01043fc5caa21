"""The shipped tools: plug-ins like any other, each module ending in the tuple `TOOLS`; nothing is imported here."""
