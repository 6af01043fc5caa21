"""Transfer: memory in from other programs, out to files, and whole homes as backups.

In: mail, calendars, notes, chats, photos, archives. Out: events; JSON lines; one encrypted file.
Here: `archives` (what somebody hands over, into the owner's folder; export and load), `importers` (streams files of
other programs as events: chats of WhatsApp, Telegram and Signal, too), `backup` (a home, encrypted).
Not here: the tools' own reading of mail and calendars (`tools`).
"""
