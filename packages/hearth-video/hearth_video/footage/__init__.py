"""Home video: recordings by camera and time, and an index, part of memory, of what experts see in them.

Pixels stay in the owner's own files; the index keeps tracks, names, activities, small pictures and face vectors. Tools
reach it through `hearth.protocols.Footage`.
"""
