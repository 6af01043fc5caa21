"""What one passage answers: the words and how likely they are, whose value a line is, who a pronoun means.

In: a question and passages. Out: a reading of each.
Here: `answer_reading` (the trained reader and what an answer must be like), `answer_subjects`, `value_owners`,
`strangers` (what strangers wrote, and what of it orders somebody to say something).
Not here: which reading is told, and what beside it (`answer_telling`).
"""
