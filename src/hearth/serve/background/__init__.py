"""What goes on beside the requests of a home that is up.

In: the home's settings and its desk. Out: mail and calendars fetched, what sensors report, reminders rung, versions
learnt, the owner's things read ahead of questions; how each stands.
Here: `background_sync` (mail, which is told of, calendars, contacts; what plug-ins listen to; what is let go of and
learnt while nobody asks for anything) with `learning_process`, `index_building` (the index of the owner's things),
`ringing` (reminders, each once, to the second).
Not here: what is fetched and how (`tools`), which version may plan (`learning.versions`).
"""
