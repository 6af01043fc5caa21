"""Alembic migrations of the service's tables, run by `Storage.migrate`, oldest first."""
