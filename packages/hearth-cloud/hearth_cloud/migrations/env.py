"""Alembic's entry point: run the migrations within the transaction of the connection it is given."""

from __future__ import annotations

from alembic import context

from hearth_cloud.storage.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
