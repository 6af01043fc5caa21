"""Questions to the owner and the answers to them, read back.

Here: `clarification` (asks for missing values, and which of two that were said), `question_answers` (the answer as the
whole request), `choices` (which of several things was meant).
"""
