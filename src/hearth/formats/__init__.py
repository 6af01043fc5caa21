"""Formats: data as text and bytes, both ways, without storage or network.

In and out: files, messages and the types they stand for.
Here: `plan_json` (TaskBench's form), `terminal_text` (plans and episodes as lines), `plan_validation` (can it run),
`tool_signature` (a function as a tool, values as plain data), `content_lines` (iCalendar, vCard), `untrusted`
(strangers' bytes), `addresses` (in one spelling), `edge_protocol` (edge and cloud), `record_places` (in which file a
record was found), `headings`.
Not here: where such data are kept (`storage`) and what they mean (`planning`, `tools`).
"""
