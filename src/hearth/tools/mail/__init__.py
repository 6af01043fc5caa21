"""Mail: found, read, drafted and sent, from a Maildir and the owner's own servers.

In: searches and drafts. Out: messages as plain data; drafts and sent mail.
Here: `mail` (the tools), `mailbox` (parsed mails, cached), `maildir` (on disk), `mime` and `html_text` (robust
reading), `compose` (safe writing), `imap_smtp` and `bounded_imap` (servers, through the door), `mail_sync` (each new
mail once).
Not here: permission to send (`guard`), mail into memory (`memory.transfer`).
"""
