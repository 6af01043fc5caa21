"""Video for the demo home (an entry point of `hearth.scenes`).

In: the demo's agent and folder. Out: a recording of yesterday evening, enrolled people, requests about it.
Here: `composed_clip` (portraits walk through a drawn room), `demo_footage` (adds it, or the owner's own recording),
`requests_video.jsonl`.
Not here: the rest of the demo (`hearth.demo`).
"""
