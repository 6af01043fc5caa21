"""What goes on beside the requests of a home that is up.

In: the home's settings and its desk. Out: mail and calendars fetched, what sensors report, versions learnt; how each
stands.
Here: `background_sync` (mail, which is told of, calendars, contacts), `watchers` (what plug-ins listen to), `resting`,
`idle_learning` with `learning_process` (while nobody asks for anything).
Not here: reminders (`serve.ringing`), which ring to the second.
"""
