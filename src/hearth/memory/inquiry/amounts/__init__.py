"""Amounts: what has changed, what two prices come to together, a price shared.

In: a question, passages or readings of them. Out: an answer with how it was worked out, or none.
Here: `joint_amounts` (prices together, a price shared), `amount_changes` (what is more or less than before).
Not here: tables (`table_answers`), sums over mails and documents (`record_answers`).
"""
