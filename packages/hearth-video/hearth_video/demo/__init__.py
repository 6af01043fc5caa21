"""Video for the demo home (an entry point of `hearth.scenes`).

In: the demo's agent and folder. Out: a recording of yesterday evening, enrolled people, requests about it.
Here: `composed_clip` (portraits walk through a drawn room), `photo_visits` (photographs beside the checkout become
visits at the door), `demo_footage` (adds them and the owner's own recording), `requests_video.jsonl`.
Not here: the rest of the demo (`hearth.demo`).
"""
