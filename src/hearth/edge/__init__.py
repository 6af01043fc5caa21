"""The device's side of cloud and edge: joining a cloud, sending what waits for it, fetching what it offers."""
