"""Pictures out of footage, and of what was seen in it.

Here: `cutouts` (people, and whose face it is), `still_pictures` (a frame with boxes and names, a timeline),
`text_images` (made ready for reading the writing in them).
"""
