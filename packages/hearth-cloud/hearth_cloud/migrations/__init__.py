"""Alembic migrations of the service's tables, run by `Storage.migrate`, oldest first.

In: a database of any earlier version. Out: one of this version.
Here: `env` (runs inside the caller's transaction), `versions` (one file per change).
Not here: the tables as they are now (`storage.tables`), the home's own database (`hearth.storage.migrations`).
"""
