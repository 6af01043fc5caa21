"""The device's side of the cloud: joining, an outbox that survives a day offline, what is fetched and verified."""
