"""Commands of the service's keeper, and of Sedna's jobs.

In: a command line, `cloud.toml`, Sedna's environment variables. Out: a running service or worker; tokens.
Here: `cloud_commands` (`hearth cloud`), `sedna_commands` (`hearth sedna`).
Not here: the service and the workers themselves (`service`, `sedna`).
"""
