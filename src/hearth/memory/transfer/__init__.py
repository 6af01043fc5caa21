"""Transfer: memory in from other programs, out to files, and whole homes as backups.

In: mail, calendars, notes, chats, photos, archives. Out: events; JSON lines; one encrypted file.
Here: `import_sources` (what can be read), `importers` (streams them), `chat_exports` (WhatsApp, Telegram, Signal),
`jsonl` (export and load), `backup` (a home, encrypted).
Not here: the tools' own reading of mail and calendars (`tools`).
"""
