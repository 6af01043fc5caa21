"""Transfer: memory in from other programs, out to files, and whole homes as backups.

In: mail, calendars, notes, chats, photos, archives. Out: events; JSON lines; one encrypted file.
Here: `archive_contents` (what somebody hands over), `archive_intake` (into the owner's folder), `import_sources` and
`importers` (streams them as events), `chat_exports` (WhatsApp, JSON lines), `telegram_export`, `signal_export`,
`jsonl` (export and load), `backup` (a home, encrypted).
Not here: the tools' own reading of mail and calendars (`tools`).
"""
