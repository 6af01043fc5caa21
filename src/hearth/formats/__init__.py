"""Formats: data as text and bytes, both ways, without storage or network.

In and out: files, messages and the types they stand for.
Here: `plans` (TaskBench's form; can it run), `terminal_text` (plans and episodes as lines), `tool_signature` (a
function as a tool, values as plain data), `content_lines` (iCalendar, vCard), `bounded_reading` (strangers' bytes, in a
process of their own, with limits) with `reading_worker` (that process), `edge_protocol` (edge and cloud),
`record_places` (in which file a record was found; addresses and headings in one spelling), `export_forms` (whether a
file is a mailbox, a mail, a chat or a note of another program).
Not here: where such data are kept (`storage`) and what they mean (`planning`, `tools`).
"""
