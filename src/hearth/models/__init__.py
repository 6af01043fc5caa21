"""Models: what turns text into vectors or into more text. Nothing is imported here, so that a start pays only for
what it uses."""
