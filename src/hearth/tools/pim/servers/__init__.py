"""Calendars and address books on servers.

Here: `mirror` (a local copy of a collection, by CalDAV or CardDAV), `subscriptions` (calendars that others publish).
"""
