"""Changes of the service's tables, by Alembic: run by `Storage.migrate`, oldest first."""
