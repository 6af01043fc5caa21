"""Strangers' bytes, read where they can do no harm.

Here: `bounded_reading` (in a process of their own, with limits), `reading_worker` (that process), `charsets` (the
encodings that are read).
"""
