"""Answers from memory, with who said it and when, or none.

In: a question in words. Out: an answer with its evidence, or nothing where memory does not know.
Here: `question_answering` (facts, else the words of events), `answer_spans` (the words that answer), `recollection`
(the memory that tools are handed).
Not here: what is asked (`language.acts.questions`), finding the events (`memory.search`), facts (`memory.facts`).
"""
