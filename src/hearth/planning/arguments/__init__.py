"""Arguments: the words of a request that fill the parameters of a call.

In: a request, a tool, perhaps a demonstration of it. Out: values, or what is missing.
Here: `binding` (a remembered plan's arguments) with `alignment` and `span_boundaries`; `schema_filler` (tools never
shown: parameters as questions, all arguments of a call together) with `value_extraction` (the form of a type, numbers
in the unit asked for).
Not here: typed values in the text (`language.values`), the trained reader (`models.span_extractor`).
"""
