"""Scripts that make shipped weights; in no wheel, and imported by nothing.

In: public data (`$HEARTH_DATA`) and forms written for Hearth (`training/data`). Out: weights and cards in
`src/hearth/data`.
Here: `injection_classifier_train` and `injection_classifier_measure`; `ner_train`, `ner_measure`, `ner_data` and
`ner_values` (the tagger of names); `span_extractor_train`, `span_extractor_measure` and `span_extractor_data` (the
reader of arguments); `tool_heads_train` and `unseen_kinds_measure` (which tool a request means). Run as
`python -m training.…`; the `_measure` files write results of `hearth-bench`.
Not here: learning on a device (`hearth.learning`), activity weights (`hearth_video.train`), fits of `hearth-bench`.
"""
