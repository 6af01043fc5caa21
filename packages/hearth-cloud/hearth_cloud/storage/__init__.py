"""The service's storage, in SQLite or PostgreSQL.

In: edges, tokens, demonstrations, statistics, artifacts. Out: the same, each message taken once.
Here: `cloud_storage` (all of it behind one class), `tables`, `engines`, `access_tokens` (kept as hashes), `knowledge`
(the tasks that enough edges share).
Not here: changes of tables (`migrations`), a device's database (`hearth.storage`).
"""
