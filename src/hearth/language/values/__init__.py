"""Values of a request: what a parameter of a tool could be given.

In: a text, the time, the owner's names. Out: typed slots with their places in the text.
Here: `slots` (all of them, the entry for callers), `numbers` (numbers, quantities, sums), `entities` (people and
things known by name), `identifiers` (phones, addresses, quotes), `online_ids` (mail, pages and machines, also
dictated), `special_categories` (words of health, belief and the like).
Not here: times (`language.temporal`), which slot fills which parameter (`planning.arguments`).
"""
