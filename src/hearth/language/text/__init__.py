"""Words and spans: what every reader of text shares.

In: a text. Out: tokens, folded words, spans, concepts.
Here: `tokens` (tokens, slots and clauses as types), `span` (a finder's result), `normalize` (same word, other form),
`confusables` (look-alike letters), `keyword_match` (a few words of the owner), `thesaurus` (everyday words to
concepts), `unit_words` (words of measures).
Not here: values made of words (`language.values`, `language.temporal`).
"""
