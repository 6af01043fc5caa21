"""Create the tables of edges, their tokens, what they contributed and the answers they received."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "edge",
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("made", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_edge"),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("edge", sa.String(100), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("made", sa.String(32), nullable=False),
        sa.Column("expires", sa.String(32)),
        sa.Column("revoked", sa.String(32)),
        sa.PrimaryKeyConstraint("id", name="pk_token"),
        sa.ForeignKeyConstraint(["edge"], ["edge.name"], name="fk_token_edge"),
        sa.UniqueConstraint("sha256", name="uq_token_sha256"),
    )
    op.create_table(
        "answered",
        sa.Column("edge", sa.String(100), nullable=False),
        sa.Column("key", sa.String(100), nullable=False),
        sa.Column("body_sha256", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("edge", "key", name="pk_answered"),
        sa.ForeignKeyConstraint(["edge"], ["edge.name"], name="fk_answered_edge"),
    )
    op.create_index("ix_answered_at", "answered", ["at"])
    op.create_table(
        "used",
        sa.Column("edge", sa.String(100), nullable=False),
        sa.Column("day", sa.String(10), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("n", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("edge", "day", "kind", name="pk_used"),
    )
    op.create_table(
        "demonstration",
        sa.Column("edge", sa.String(100), nullable=False),
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("line", sa.Text, nullable=False),
        sa.Column("at", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("edge", "id", name="pk_demonstration"),
        sa.ForeignKeyConstraint(["edge"], ["edge.name"], name="fk_demonstration_edge"),
    )
    op.create_index("ix_demonstration_task", "demonstration", ["task"])
