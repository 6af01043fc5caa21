"""Search: events, and everything in the owner's folder in pieces, that may answer a question, best first.

In: a question as words, vector, people and times; mails, notes, documents, events, cards. Out: ranked events, passages.
Here: `memory_index` (events as arrays, scanned exactly, all signs weighed, what a later statement replaces),
`search_words` (features of words, their beginnings, the periods that a question names), `passage_store` (passages,
their words and vectors), `collecting` (files as passages, with tables) and `office_documents` (formats of others, read
in a process of their own).
Not here: the answer's words (`memory.answers`, `memory.inquiry`), what is kept and how long (`memory.forgetting`).
"""
