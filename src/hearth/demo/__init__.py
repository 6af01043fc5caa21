"""The demo: a believable owner with files in real formats, and a run that shows Hearth at work on them."""
