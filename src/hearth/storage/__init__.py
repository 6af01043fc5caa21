"""Storage: the home on disk, whole after a crash.

In: rows, records of requests, writes of tools. Out: the same, durable; files undone on request.
Here: `database` (one SQLite file, and connections to it, encrypted or not) with `cipher_connection`, `migrations` (its
tables, for companions too), `trace` (each request, step by step), `workspace` (the owner's folder: paths below one
root, writes atomic, journalled, undoable), `home_key` and `encryption` (a home that is encrypted), `fault_log` (what a
bug looked like).
Not here: files of learnt state (`learning.versions.learned_state`), the ledger's chain (`guard.egress`).
"""
