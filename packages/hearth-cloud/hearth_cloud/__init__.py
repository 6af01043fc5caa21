"""The service that teaches edges, merges what they learnt and keeps a task knowledge base. Needs the extra `cloud`."""

__version__ = "0.2.0"
