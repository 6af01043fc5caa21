"""Values of a request: what a parameter of a tool could be given.

In: a text, the time, the owner's names. Out: typed slots with their places in the text.
Here: `slots` (all of them, the entry for callers, and people and things known by name), `numbers` (numbers,
quantities, sums), `identifiers` (phones, addresses, quotes), `contact_ids` (mail, pages, machines, also dictated, and
phones by numbering plan), `check_digits` (of cards, accounts, national numbers), `special_categories` (words of health,
belief and the like).
Not here: times (`language.temporal`), which slot fills which parameter (`planning.arguments`).
"""
