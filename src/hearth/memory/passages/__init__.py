"""Passages: everything in the owner's folder in pieces, and answers that stand on them.

In: mails, notes, documents, events, cards, reminders; a question. Out: an answer with its witnesses, or none.
Here: `collecting` (files as passages), `passage_cutting`, `document_text` and `document_worker` (formats of others, in
a process of their own), `passage_store` (words and vectors), `answer_reading` (the words that answer),
`record_answers` (what is worked out over records), `table_counts` (over one table), `asking_sentences`,
`home_answers` (all of it, for one question), `passage_holder` (forgetting).
Not here: what was told and is held true (`memory.facts`), what happened (`memory.event_memory`).
"""
