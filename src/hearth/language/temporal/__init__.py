"""Time expressions: dates, clock times, durations, repeats and tenses, read without training.

In: tokens, the present moment. Out: `Slot`s of time with every form that a parameter may want. Deterministic.
Here: `times` finds them all, past or future, with `dates`, `clock_times` (and durations) and `repeats` (and what is
said in two places) for one form each, `time_words` (the words, and moments placed on the calendar). Callers use
`language.values.slots`, which planning sees.
Not here: calendars and alarms (`tools.pim`), dates of facts (`memory.facts`).
"""
