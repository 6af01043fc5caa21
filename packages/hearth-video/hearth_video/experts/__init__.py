"""Expert models: each looks at pictures or listens to sound and reports what is there, on the processor, offline.

In: frames or samples. Out: boxes, tracks, faces, poses, activities, words, sounds (`expert_values`).
Here: `person_detector` (with `background_subtraction`, `tracking`), `identity` (faces), `pose`, `activity`, `ocr`,
`speech`, `sound_events`, `voice_activity`, `blaze` (small networks). Making one is free; it loads its model when first
used.
Not here: recordings and tools (`footage` runs experts); the seam is `hearth.protocols.Expert`, its contract
`hearth.testing.check_expert`. A missing package is reported with the pip command.
"""
