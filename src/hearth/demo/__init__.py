"""A believable owner with files in real formats, and the run that shows Hearth at work on them."""
