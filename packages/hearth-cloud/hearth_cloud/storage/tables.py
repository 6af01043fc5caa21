"""The tables of the service, the same in SQLite and PostgreSQL; `migrations` makes and changes them.

Times are UTC, as ISO text, which both databases store and compare alike. The only words of an owner in here are those
an edge masked and sent as a demonstration.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

edge = Table(
    "edge",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("made", String(32), nullable=False),
)

token = Table(
    "token",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("edge", String(100), ForeignKey("edge.name"), nullable=False),
    Column("sha256", String(64), nullable=False, unique=True),
    Column("made", String(32), nullable=False),
    Column("expires", String(32)),
    Column("revoked", String(32)),
)

instance = Table(  # agents seen with a token, so that two at once are noticed
    "instance",
    metadata,
    Column("token", String(32), primary_key=True),  # may be of an edge that was dropped a moment ago
    Column("id", String(100), primary_key=True),
    Column("first", String(32), nullable=False),
    Column("last", String(32), nullable=False),
)

answered = Table(  # answers to requests that changed something
    "answered",
    metadata,
    Column("edge", String(100), ForeignKey("edge.name"), primary_key=True),
    Column("key", String(100), primary_key=True),
    Column("body_sha256", String(64), nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Column("at", String(32), nullable=False),
    Index("ix_answered_at", "at"),
)

used = Table(  # quotas
    "used",
    metadata,
    Column("edge", String(100), primary_key=True),  # may be one that was dropped a moment ago
    Column("day", String(10), primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("n", BigInteger, nullable=False),
)

demonstration = Table(
    "demonstration",
    metadata,
    Column("edge", String(100), ForeignKey("edge.name"), primary_key=True),
    Column("id", String(100), primary_key=True),
    Column("task", Text, nullable=False),  # its tools, in order
    Column("line", Text, nullable=False),  # of the plan format
    Column("at", String(32), nullable=False),
    Index("ix_demonstration_task", "task"),
)

blob = Table(
    "blob",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("n_bytes", BigInteger, nullable=False),
    Column("data", LargeBinary),  # none where they lie in an object store
    Column("made", String(32), nullable=False),
    Column("object", String(200)),
)

loose = Table(  # objects that no blob names (yet, or any more): written down before an object is, so none is lost
    "loose",
    metadata,
    Column("object", String(200), primary_key=True),
    Column("made", String(32), nullable=False),
)

round_ = Table(  # a round of collecting statistics
    "round",
    metadata,
    Column("id", String(100), primary_key=True),
    Column("state", String(20), nullable=False),
    Column("about", Text, nullable=False),  # JSON, owned by the code that merges
    Column("made", String(32), nullable=False),
    Index("ix_round_state", "state"),
)

part = Table(  # one edge's contribution to a round
    "part",
    metadata,
    Column("round", String(100), ForeignKey("round.id"), primary_key=True),
    Column("edge", String(100), ForeignKey("edge.name"), primary_key=True),
    Column("kind", String(40), primary_key=True),
    Column("id", String(100), nullable=False),
    Column("state", String(20), nullable=False),
    Column("about", Text, nullable=False),  # JSON
    Column("blob", String(64), ForeignKey("blob.sha256")),
    Column("made", String(32), nullable=False),
    Index("ix_part_edge", "edge"),
    Index("ix_part_blob", "blob"),
)

piece = Table(  # sums over some contributions, kept so that only what changed is added again
    "piece",
    metadata,
    Column("path", String(20), primary_key=True),  # the first digits of its contributions' hashed names
    Column("profile", String(20), primary_key=True),  # empty: what was found out about the contributions
    Column("key", String(64), nullable=False),  # hash of what went in
    Column("about", Text, nullable=False),  # JSON
    Column("blob", String(64), ForeignKey("blob.sha256")),
    Column("made", String(32), nullable=False),
)

manifest = Table(
    "manifest",
    metadata,
    Column("kind", String(20), primary_key=True),
    Column("serial", Integer, primary_key=True),
    Column("body", Text, nullable=False),  # signed, as it is sent
    Column("blob", String(64), ForeignKey("blob.sha256"), nullable=False),
    Column("made", String(32), nullable=False),
)

note = Table(  # what a process has to know of one that ended
    "note",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("text", Text, nullable=False),
    Column("made", String(32), nullable=False),
)
