"""Words and spans: what every reader of text shares.

In: a text. Out: tokens, folded words, spans, concepts.
Here: `tokens` (tokens, slots, clauses, words of measures), `finder_text` (what finders read, look-alike letters undone,
and return), `word_match` (same word, same name, a few words of the owner), `spelling` (words
typed wrongly), `thesaurus` (everyday words to concepts).
Not here: values made of words (`language.values`, `language.temporal`).
"""
