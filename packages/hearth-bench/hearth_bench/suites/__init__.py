"""Suites: each measures one ability of Hearth and returns flat results."""
