"""Let bytes lie in an object store, note those that no blob names, keep sums of pieces, find an edge's parts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    with op.batch_alter_table("blob") as blob:
        blob.alter_column("data", existing_type=sa.LargeBinary, nullable=True)
        blob.add_column(sa.Column("object", sa.String(200)))
    op.create_table(
        "loose",
        sa.Column("object", sa.String(200), nullable=False),
        sa.Column("made", sa.String(32), nullable=False),
        sa.PrimaryKeyConstraint("object", name="pk_loose"),
    )
    op.create_table(
        "piece",
        sa.Column("path", sa.String(20), nullable=False),
        sa.Column("profile", sa.String(20), nullable=False),
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("blob", sa.String(64)),
        sa.Column("made", sa.String(32), nullable=False),
        sa.ForeignKeyConstraint(["blob"], ["blob.sha256"], name="fk_piece_blob"),
        sa.PrimaryKeyConstraint("path", "profile", name="pk_piece"),
    )
    op.create_index("ix_part_edge", "part", ["edge"])
    op.create_index("ix_part_blob", "part", ["blob"])
    op.create_index("ix_round_state", "round", ["state"])
