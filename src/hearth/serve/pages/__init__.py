"""What a browser gets of a home, and what it sends.

In: requests that the door let in. Out: pages, fragments, events.
Here: `page` (talking and looking back, corrections and changes by form), `house_pages` (devices, recordings, skills,
files, phones, settings), `memory_pages`, `page_parts` (what all are made of). Templates and scripts lie beside this
room.
Not here: who may come in (`serve.door`), what is asked and done (`serve.desk`).
"""
