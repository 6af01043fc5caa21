"""Define the scorecard's tables of answers from the owner's own things, of corrections and of functions never seen.

The form is that of `scorecard_tables`, which has all other tables.
"""

from __future__ import annotations

from collections.abc import Mapping

from hearth_bench.measure.planning.planner_parts import ALL, PARTS
from hearth_bench.measure.scorecard_goals import BFCL
from hearth_bench.measure.scorecard_tables import PLANNING_CODE, Row, Table

_GROUP = "Answers from the owner's own things"
_FURTHER = "Planning and learning, further"
_CODE = ("src/hearth/memory", "src/hearth/data", "src/hearth/models")
_READ = (
    ("F1", "extractive_f1"),
    ("F1, never refusing", "extractive_f1_never_refusing"),
    ("unanswerable, refused", "refused_rightly"),
    ("answerable, refused", "refused_wrongly"),
    ("yes or no", "yesno_accuracy"),
    ("count", "count_accuracy"),
)
_FLOOR_F1 = (*_READ, ("floor's F1", "f1"))
_HOME = (
    ("right", "right"),
    ("read", "read_right"),
    ("computed", "computed_right"),
    ("stands nowhere, refused", "nowhere_right"),
    ("refused wrongly", "refused_wrongly"),
    ("wrong without doubt", "wrong_without_doubt"),
    ("p95 ms", "p95_ms"),
)
_NEWCOMERS = (
    ("asked", "n"),
    ("right", "n_right"),
    ("read", "n_read_right"),
    ("computed", "n_computed_right"),
    ("nowhere", "n_nowhere_right"),
    ("refused wrongly", "n_refused_wrongly"),
    ("wrong without doubt", "n_wrong_without_doubt"),
)
_WHO = (
    "piano_tuner", "beekeeper", "retired_midwife", "sound_engineer", "tiler", "ferry_engineer", "dental_nurse",
    "night_baker", "allotment_clerk",
)  # fmt: skip
_PREFERENCES = tuple((f"in the first {k}", f"preference_recall_at_{k}") for k in (1, 5, 10))
_TABLES = (("asked", "n"), ("right", "right"), ("wrong for sure", "wrong_for_sure"), ("refused", "refused"))
_SCALE_QUESTION = (
    ("question p50, ms", "question_p50_ms"),
    ("p95", "question_p95_ms"),
    ("the index's part p95", "index_p95_ms"),
    ("bytes a passage", "bytes_per_passage"),
    ("a changed note, s", "changed_note_s"),
    ("MB", "peak_mb"),
)
_SCALE_LOOK = (
    ("s", "first_look_s"),
    ("MB", "first_look_mb"),
    ("mails", "n_mails"),
    ("there at the end", "mails_there"),
    ("read twice", "read_again"),
)
_CORRECTED = (("before it is taught", "_before"), ("after", ""))
_PLAN_TIMES = (
    ("CPU p50", "plan_cpu_ms/p50"),
    ("CPU p95", "plan_cpu_ms/p95"),
    ("wall p50", "plan_ms/p50"),
    ("wall p95", "plan_ms/p95"),
)
_BFCL_KINDS = (
    ("simple", "simple_python"),
    ("live simple", "live_simple"),
    ("multiple", "multiple"),
    ("live multiple", "live_multiple"),
    ("parallel", "parallel"),
    ("parallel multiple", "parallel_multiple"),
)
_PART_SETS = (("real people", "real"), ("own", "own"), ("natural", "natural"), ("taught", "corrections"))
_WORTH = tuple(
    (f"{label}: {what}", f"{kind}/{key}")
    for label, kind in _PART_SETS
    for what, key in (("touched", "n_touched"), ("worth", "worth"))
)
_HARM = tuple((label, f"{kind}/harm") for label, kind in _PART_SETS)
_SOURCES = tuple((source, source) for source in ("slurp", "hwu", "smcalflow", "xsid", "almond", "ha", "all"))
_FILES = (
    ("held out", "held_out_requests"),
    ("blind", "blind_requests"),
    ("home", "home_requests"),
    ("varied", "varied_requests"),
    ("week", "week_requests"),
    ("32 more people", "new_people_requests"),
    ("16 more", "unseen_people_requests"),
)
_RELIABLE = (
    ("plans", "n"),
    ("confidence", "confidence"),
    ("good", "right"),
    ("ECE", "ece"),
    ("its floor", "ece_floor"),
)
_LEARNT = (
    ("one example, CPU ms p50", "one_example_cpu_ms/p50"),
    ("300, CPU s", "learnt_300_cpu_s"),
    ("300 with the gate, CPU s", "gate_300_cpu_s"),
)


def _all(columns: tuple[tuple[str, str], ...], value: float, **others: float) -> Mapping[str, float]:
    return {key: others.get(key, value) for _, key in columns}


def _newcomers(title: str, file: str, command: str, note: str) -> Table:
    rows = tuple(Row(who.replace("_", " "), f"results/{who}/") for who in _WHO)
    none = _all(_NEWCOMERS, 0.0)
    all_right = {"n": 20.0, "n_right": 20.0, "n_refused_wrongly": 0.0, "n_wrong_without_doubt": 0.0}
    bounds = (Row("floor: refuses everything it could know", by_definition={**none, "n": 20.0}), *rows)
    return Table(
        _GROUP, title, file, command, _NEWCOMERS, (*bounds, Row("oracle", by_definition=all_right)), _CODE, note
    )


def _parts(title: str, columns: tuple[tuple[str, str], ...], note: str) -> Table:
    floor = Row("floor: a part that changes nothing", by_definition=_all(columns, 0.0))
    rows = tuple(Row(f"`{name}`", f"results/parts/{name}/") for name in (*(part.name for part in PARTS), ALL))
    command = "python -m hearth_bench.measure.planning.parts_left_out"
    return Table(
        _FURTHER,
        title,
        "parts_left_out",
        command,
        columns,
        (floor, *rows),
        (*PLANNING_CODE, "src/hearth/agent.py"),
        note,
    )


ANSWER_TABLES: tuple[Table, ...] = (
    Table(
        _GROUP,
        "Questions over texts, tables, receipts and mails, held out",
        "bench_answers",
        "hearth bench answers --data FILE --json OUT --held-out",
        _FLOOR_F1,
        (
            Row("floor: words alone", "floor_words_"),
            Row("floor: meaning alone", "floor_meaning_"),
            Row("floor: the sentence with most shared words", "floor_most_words_"),
            Row("the passage given"),
            Row("found among all", "whole_"),
            Row("oracle", by_definition=_all(_FLOOR_F1, 1.0, refused_wrongly=0.0)),
        ),
        _CODE,
        "Asked are F1 .75 given the passage and .65 found among all, .8 refused rightly and .05 wrongly.",
    ),
    Table(
        _GROUP,
        "Three hundred questions over six homes",
        "home_questions",
        "python -m hearth_bench.measure.memory.home_questions",
        _HOME,
        (
            Row("floor: the best passage by words, of homes tuned on", "results/tuned/floor_"),
            Row("floor: the same, of homes held out", "results/held_out/floor_"),
            Row("homes tuned on", "results/tuned/"),
            Row("homes held out", "results/held_out/"),
            Row("oracle", by_definition=_all(_HOME, 1.0, refused_wrongly=0.0, wrong_without_doubt=0.0, p95_ms=0.0)),
        ),
        _CODE,
        "Asked of those held out: .80 right, .85 of the computed ones, .05 wrong without doubt.",
    ),
    _newcomers(
        "Newcomers' homes, the first answers that each ever gave",
        "newcomer_questions_first",
        "python -m hearth_bench.measure.memory.newcomer_questions --first WHO",
        "Asked are 16 of 20 (8 of the tiler's 10). The first answers are blind.",
    ),
    _newcomers(
        "The same homes, asked again",
        "newcomer_questions",
        "python -m hearth_bench.measure.memory.newcomer_questions",
        "What was mended since was mended with these homes in sight.",
    ),
    Table(
        _GROUP,
        "Preferences said once, among all others (PrefEval)",
        "bench_prefeval",
        "hearth bench recall --prefeval DIR",
        _PREFERENCES,
        (
            Row("floor: by words", "floor_words_"),
            Row("floor: by meaning", "floor_meaning_"),
            Row("memory"),
            Row("oracle", by_definition=_all(_PREFERENCES, 1.0)),
        ),
        _CODE,
        "Asked is to find more in the first 10 than meaning alone does.",
    ),
    Table(
        _GROUP,
        "What people ask of their tables, of an author of whom nothing was learnt",
        "table_questions",
        "python -m hearth_bench.measure.memory.table_questions",
        _TABLES,
        (
            Row("floor: refuses everything", by_definition={"right": 0.0, "wrong_for_sure": 0.0, "refused": 1.0}),
            Row("all", "results/all/"),
            Row("a cell", "results/cell/"),
            Row("a sum", "results/sum/"),
            Row("a count", "results/count/"),
            Row("yes or no", "results/yesno/"),
            Row("a list", "results/list/"),
            Row("told by no table", "results/told by none/"),
            Row("oracle", by_definition={"right": 1.0, "wrong_for_sure": 0.0}),
        ),
        _CODE,
    ),
    Table(
        _GROUP,
        "A question in a home of 20,000 passages",
        "home_at_scale",
        "python -m hearth_bench.measure.memory.home_at_scale --only question",
        _SCALE_QUESTION,
        (
            Row(
                "floor: the most that was asked for",
                by_definition={
                    "question_p95_ms": 300.0, "index_p95_ms": 50.0, "bytes_per_passage": 1024.0, "changed_note_s": 1.0,
                },
            ),
            Row("measured", "results/question/"),
            Row("oracle: nothing", by_definition=_all(_SCALE_QUESTION, 0.0)),
        ),
        _CODE,
    ),
    Table(
        _GROUP,
        "The first look at 1 GB of mail, killed once in its middle",
        "home_at_scale",
        "python -m hearth_bench.measure.memory.home_at_scale --only look",
        _SCALE_LOOK,
        (
            Row(
                "floor: the most that was asked for",
                by_definition={"first_look_s": 600.0, "first_look_mb": 400.0, "read_again": 0.0},
            ),
            Row("measured", "results/look/"),
            Row("oracle: nothing", by_definition={"first_look_s": 0.0, "first_look_mb": 0.0, "read_again": 0.0}),
        ),
        _CODE,
    ),
    Table(
        _FURTHER,
        "What one correction changes",
        "corrections",
        "python -m hearth_bench.measure.planning.correction_reach",
        _CORRECTED,
        (
            Row("floor: nothing is taught", by_definition={"_before": 0.0, "": 0.0}),
            Row("right: itself", "results/itself"),
            Row("right: rephrasings", "results/rephrasings"),
            Row("right: siblings", "results/siblings"),
            Row("first twelve, right: rephrasings", "results/first_twelve/rephrasings"),
            Row("first twelve, right: siblings", "results/first_twelve/siblings"),
            Row("thirteen further, right: rephrasings", "results/further/rephrasings"),
            Row("thirteen further, right: siblings", "results/further/siblings"),
            Row("dangerous", "results/dangerous"),
            Row("others changed", "results/changed_elsewhere"),
            Row("oracle of what is right", by_definition={"": 1.0}),
        ),
        PLANNING_CODE,
        "Asked are .75 of rephrasings and of siblings, none dangerous, .005 of others changed. The further "
        "thirteen were written before the planner saw any of them.",
    ),
    Table(
        _FURTHER,
        "Functions never seen (BFCL): the right functions",
        "bench_planning_bfcl",
        BFCL,
        _BFCL_KINDS,
        (
            Row("floor: none", by_definition=_all(_BFCL_KINDS, 0.0)),
            Row("the right functions", "tools_right_"),
            Row("all calls exact", "calls_exact_"),
            Row("oracle", by_definition=_all(_BFCL_KINDS, 1.0)),
        ),
        PLANNING_CODE,
        "Asked are .99 of multiple and .95 of live multiple.",
    ),
    Table(
        _FURTHER,
        "A plan of the agent's own, of what real people said, milliseconds",
        "real_requests",
        "python -m hearth_bench.measure.planning.real_requests",
        _PLAN_TIMES,
        (
            Row("floor: CPU when it was asked", by_definition={"plan_cpu_ms/p50": 103.0}),
            Row("a plan", "results/"),
            Row("oracle: the most that was asked for", by_definition={"plan_cpu_ms/p50": 20.0}),
        ),
        PLANNING_CODE,
    ),
    Table(
        _FURTHER,
        "What learning costs a home",
        "learning_cost",
        "python -m hearth_bench.measure.learning.learning_cost",
        _LEARNT,
        (
            Row("floor: the most that was asked for", by_definition=_all(_LEARNT, 1.0, **{_LEARNT[0][1]: 50.0})),
            Row("measured", "results/"),
            Row("oracle: nothing", by_definition=_all(_LEARNT, 0.0)),
        ),
        PLANNING_CODE,
    ),
    _parts(
        "What each rule that stays in the planner is worth: the share right with it, less the share without it",
        _WORTH,
        "Intervals are in the file, with counts of right and harmful ones. Of a difference there is no oracle.",
    ),
    _parts(
        "The same, of what is harmful (lower is better)",
        _HARM,
        "Of a difference there is no oracle.",
    ),
    Table(
        _FURTHER,
        "What ranking could gain, of what real people said that a tool serves: right, or rightly asked back",
        "real_requests_bounds",
        "python -m hearth_bench.measure.planning.real_requests --bounds",
        _SOURCES,
        (
            Row("floor: the nearest demonstration copied", "results/@served_requests/floor_nearest_copied"),
            Row("the plan", "results/@served_requests/plan"),
            Row("oracle: the best of the first six candidates", "results/@served_requests/oracle_best_of_six"),
            Row("oracle: the best of them and the plan", "results/@served_requests/oracle_best_of_six_or_plan"),
        ),
        PLANNING_CODE,
        "Candidates are of the whole request as one thing, so those of several acts are none of them.",
    ),
    Table(
        _FURTHER,
        "What ranking could gain, of the project's own requests: right",
        "requests_bounds",
        "python -m hearth_bench.measure.planning.requests --bounds",
        _FILES,
        (
            Row("floor: the nearest demonstration copied", "results/@floor_nearest_copied/right"),
            Row("recall", "results/@recall/right"),
            Row("oracle: the best of the first six candidates", "results/@oracle_best_of_six/right"),
            Row("oracle: the best of them and the plan", "results/@oracle_best_of_six_or_plan/right"),
        ),
        PLANNING_CODE,
    ),
    Table(
        _FURTHER,
        "How often a plan of some confidence is good, of what real people said",
        "real_requests",
        "python -m hearth_bench.measure.planning.real_requests",
        _RELIABLE,
        (
            Row("floor: wholly sure, never good", by_definition={"confidence": 1.0, "right": 0.0, "ece": 1.0}),
            *(
                Row(name, f"results/reliability/bins/{name}/")
                for name in (f"{k / 10:.1f} to {(k + 1) / 10:.1f}" for k in range(10))
            ),
            Row("all plans", "results/reliability/"),
            Row("oracle: as often good as it is sure", by_definition={"ece": 0.0}),
        ),
        PLANNING_CODE,
    ),
)  # fmt: skip
