"""Values of a request: what a parameter of a tool could be given.

In: a text, the time, the owner's names. Out: typed slots with their places in the text.
Here: `slots` (all of them, the entry for callers; people and things known by name, phones, addresses, quotes),
`numbers` (numbers, quantities, sums), `identifying` (what may say who somebody is: mail, pages, machines, phones by
numbering plan, check digits, words of health, belief and the like).
Not here: times (`language.temporal`), which slot fills which parameter (`planning.arguments`).
"""
