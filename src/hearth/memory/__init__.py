"""Memory of the agent: events, found by their words."""
