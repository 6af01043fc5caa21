"""Personal information: calendar, contacts and reminders, in files any program can read.

In: names, times, changes. Out: events, people and reminders as plain data; the files changed in place.
Here: `calendar` (with its events), `contacts` (with the cards, and whom a name means), `reminders` (the tools and their
files); `ical` (times and repeats); `servers` (CalDAV, CardDAV, published calendars).
Not here: the line format (`formats.content_lines`), reading dates from words (`language.temporal`).
"""
