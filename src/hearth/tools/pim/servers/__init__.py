"""Calendars and address books on servers.

Here: `dav` (CalDAV, CardDAV), `mirror` (a local copy of a collection), `subscriptions` (calendars that others publish).
"""
