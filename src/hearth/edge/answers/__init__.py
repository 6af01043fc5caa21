"""Questions of general knowledge: asked of the cloud, answered with what only the device knows.

In: a question, the owner's facts and calendar. Out: one answer with its sources; what left the device.
Here: `ask_cloud` (the tool: takes out what must not leave; filters, ranks and joins what comes back), `food_ontology`
(what foods hold, for allergies and diets).
Not here: when a question goes to the cloud at all (`planning.dialogue`); masking (`guard.deidentify`).
"""
