"""Changes to the service's tables, one file each, numbered and never edited once released.

In: the tables as the file before left them. Out: the changed tables.
Here: `v0001_edges`, `v0002_statistics`; a new change is the next number.
Not here: the tables as they are now (`hearth_cloud.storage.tables`).
"""
