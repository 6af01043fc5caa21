"""Measurements of what reading and planning cost in time and memory.

Here: `recall_at_size` (ten thousand demonstrations and tools), `slot_speed`, `encoder_cost`, `metric_speed`,
`hostile_texts` (made to be slow).
"""
