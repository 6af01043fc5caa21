"""What the agent remembers: events, found by their words."""
