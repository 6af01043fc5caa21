"""Home video: recordings by camera and time, what experts see in them, kept as an index that is part of memory.

Pixels stay in the owner's own files; the index keeps tracks, names, activities, small pictures and face vectors. Tools
reach it through `hearth.protocols.Footage`.
"""
