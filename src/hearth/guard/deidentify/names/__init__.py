"""Names of people, places and firms in a text, and which of them are nobody's secret.

In: a text, the owner's own contacts. Out: spans that are names, with their kind.
Here: `contact_names` (the owner's own), `cued_names` (strangers'), `cue_words` (what announces one),
`harmless_names` (countries, capitals and the like, that stay).
Not here: numbers and other identifiers by their form (`guard.deidentify`), the tagger (`deidentify.owners_mask`).
"""
