"""Amendments to a plan by the words of its request.

Here: `contradictions` (what it does against them), `asked_states` (a question changes nothing), `several_days`,
`several_devices` (each of several), `told_text`, `told_filters` (what is written to somebody).
"""
