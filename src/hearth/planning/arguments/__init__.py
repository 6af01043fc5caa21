"""Arguments: the words of a request that fill the parameters of a call.

In: a request, a tool, perhaps a demonstration of it. Out: values, or what is missing.
Here: `binding` (a remembered plan's arguments) with `alignment`, `context_counts` and `span_boundaries`;
`schema_filler` (tools never shown) with `slot_questions` (parameters as questions) and `value_extraction` (the form of
a type), `number_readings` (numbers in the unit asked for), `joint_decoding` (all arguments of a call together).
Not here: typed values in the text (`language.values`), the trained reader (`models.span_extractor`).
"""
