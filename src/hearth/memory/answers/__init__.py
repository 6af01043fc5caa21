"""Answers from memory and from the owner's things, with who said it and when, or none.

In: a question in words. Out: an answer with its evidence, or nothing where memory does not know.
Here: `question_answering` (facts, else the words of events, and which of them answer), `recollection` (the memory that
tools are handed), `home_answers` (one question to the owner's things from end to end, amounts too), `summaries` (texts,
days and weeks).
Not here: what is asked (`language.reading`), finding the events (`memory.search`), facts (`memory.facts`).
"""
