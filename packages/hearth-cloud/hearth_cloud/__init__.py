"""The service that teaches edges, merges what they learnt and keeps what tasks there are. Needs the extra `cloud`."""

__version__ = "0.2.0"
