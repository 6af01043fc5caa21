"""What each request must pass before the service does anything for it.

Here: `admission` (version, token, name, rate, size), `limits` (of one edge), `shared_rates` (over all replicas),
`connection_limits` (silent connections).
"""
