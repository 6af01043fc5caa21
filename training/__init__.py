"""Scripts that make shipped weights; in no wheel, and imported by nothing.

In: public data (`$HEARTH_DATA`) and forms written for Hearth (`training/data`). Out: weights and cards in
`src/hearth/data`.
Here: `injection_classifier_train`; `ner_train` with `ner_data`, `ner_values` and `ner_measure` (the tagger of names);
`span_extractor_train` with `span_extractor_data` (the reader of arguments). Run as `python -m training.…`.
Not here: learning on a device (`hearth.learning`), activity weights (`hearth_video.train`), fits of `hearth-bench`.
"""
