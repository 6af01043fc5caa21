"""The device's side of edge and cloud: joining a cloud, sending what waits for it, fetching what it offers."""
