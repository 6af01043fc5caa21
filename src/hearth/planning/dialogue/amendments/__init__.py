"""Amendments to a plan by the words of its request.

Here: `contradictions` (what it does against them; a question changes nothing), `each_of_several` (days, times,
devices), `told_text` (what is written to somebody), `added_steps` (a reminder, further recipients).
"""
