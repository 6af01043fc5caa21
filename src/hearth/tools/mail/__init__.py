"""Mail: found, read, drafted and sent, from a Maildir and the owner's own servers.

In: searches and drafts. Out: messages as plain data; drafts and sent mail.
Here: `mail` (the tools, and safe writing), `mailbox` (on disk, and parsed, cached), `mime` (robust reading, HTML too),
`imap_smtp` (servers, through the door; each new mail once) with `bounded_imap` and `bounded_smtp`.
Not here: permission to send (`guard`), mail into memory (`memory.transfer`).
"""
