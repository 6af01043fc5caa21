"""Create the tables of blobs, statistics rounds with their parts, signed manifests, and the agents that used a
token."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.create_table(
        "instance",
        sa.Column("token", sa.String(32), nullable=False),
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("first", sa.String(32), nullable=False),
        sa.Column("last", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("token", "id", name="pk_instance"),
    )
    op.create_table(
        "blob",
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.Column("made", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("sha256", name="pk_blob"),
    )
    op.create_table(
        "round",
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("made", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_round"),
    )
    op.create_table(
        "part",
        sa.Column("round", sa.String(100), nullable=False),
        sa.Column("edge", sa.String(100), nullable=False),
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("id", sa.String(100), nullable=False),
        sa.Column("state", sa.String(20), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("blob", sa.String(64)),
        sa.Column("made", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("round", "edge", "kind", name="pk_part"),
        sa.ForeignKeyConstraint(["round"], ["round.id"], name="fk_part_round"),
        sa.ForeignKeyConstraint(["edge"], ["edge.name"], name="fk_part_edge"),
        sa.ForeignKeyConstraint(["blob"], ["blob.sha256"], name="fk_part_blob"),
    )
    op.create_table(
        "manifest",
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("serial", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("blob", sa.String(64), nullable=False),
        sa.Column("made", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("kind", "serial", name="pk_manifest"),
        sa.ForeignKeyConstraint(["blob"], ["blob.sha256"], name="fk_manifest_blob"),
    )
