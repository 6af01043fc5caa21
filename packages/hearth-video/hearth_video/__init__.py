"""Home video: who was in which room when, doing what; what was said and heard; text in pictures.

In: the owner's recordings and pictures. Out: an index in the home's database, and answers from it. Adds
`hearth video`, `hearth people`, tools, footage, a holder for forgetting, a doctor's check and a scene of the demo.
Here: rooms `experts` (models), `footage` (recordings and index), `tools`, `train`, `demo`, `cli`; `dahlia` (a data set
of daily life), `installed` (what is missing, and how to install it), `video_check`.
Not here: recording, live pictures, and the seams `Footage` and `Expert` (`hearth.protocols`).
"""

__version__ = "0.2.0"
