"""Measurements of home video: who and what is recognised, and what looking costs.

In: clips and sounds whose truth is known. Out: error rates, speed, memory.
Here: `video_clips` (composes them), `video_composed` (the demo's clip), `video_person`, `video_identity`,
`video_activity`, `video_ocr`, `video_speech`, `video_index` (a day's cost).
Not here: the experts (`hearth_video.experts`).
"""
