"""Amounts and numbers that are worked out, not read: over the rows of a table, from two prices, over time.

In: a question, passages or readings. Out: an answer that shows what it was worked out from.
Here: `table_questions` (what is asked of a table, as one operation), `table_answers` (its rows summed, ordered),
`table_counts` (a number over one table that was read), `joint_amounts` (prices together, a price shared),
`amount_changes` (by how much it is more than before).
Not here: sums over mails and documents, counts of records (`record_answers`).
"""
