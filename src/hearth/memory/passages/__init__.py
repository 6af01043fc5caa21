"""Passages: everything in the owner's folder in pieces, with their words and vectors.

In: mails, notes, documents, events, cards, reminders. Out: the pieces that may answer a question.
Here: `collecting` (files as passages), `passage_cutting`, `text_tables`, `document_text` and `office_documents`
(formats of others, read in a process of their own), `passage_store` (words and vectors).
Not here: what they answer (`memory.inquiry`), forgetting them (`memory.forgetting`), what was told and is held true
(`memory.facts`).
"""
