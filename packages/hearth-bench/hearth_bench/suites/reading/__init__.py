"""Questions over documents: spans, yes or no, counts, and questions that no document answers.

In: a file of questions, each with its document. Out: how well the answers found are right, or rightly none.
Here: `question_file` (the file's form and its split), `reading_suite` (asking, floors, figures).
Not here: training the reader (`training.answer_reader_train`), questions about conversations (`answers_suite`).
"""
