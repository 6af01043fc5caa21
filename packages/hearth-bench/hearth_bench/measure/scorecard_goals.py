"""Name what was asked of planning and of answers: each measure, the number asked, and where it is measured.

Each goal is a row of the page's first tables, with its command. What another number stood at when the goal was set
is its `then`; measures that were to stay as good as they were are asked to be no lower than that.

Not covered: floors and oracles, which stand in the tables below (`scorecard_tables`, `scorecard_answers`).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Goal:
    """One measure and the number that was asked of it."""

    label: str
    file: str
    """Name of the result file; empty where a test alone shows it."""
    at: str
    """Place (`key/key/…`) in the file; the test's path where a test shows it."""
    asked: float | None
    """The number asked; None where the measure was asked for and no number."""
    command: str
    is_at_most: bool = False
    then: float | None = None
    """What it was when the goal was set."""


@dataclass(frozen=True, slots=True)
class GoalTable:
    """Goals that were set together."""

    title: str
    goals: tuple[Goal, ...]
    note: str = ""


_MEASURE = "python -m hearth_bench.measure."
_REAL = f"{_MEASURE}planning.real_requests"
_REQUESTS = f"{_MEASURE}planning.requests"
_CORRECTIONS = f"{_MEASURE}planning.correction_reach"
_SCALE = f"{_MEASURE}memory.home_at_scale"
_COST = f"{_MEASURE}learning.learning_cost"
_HOMES = f"{_MEASURE}memory.home_questions"
_NEWCOMERS = f"{_MEASURE}memory.newcomer_questions"
_ANSWERS = "hearth bench answers --data FILE --json OUT --held-out"
_PUBLIC = "hearth bench planning --train TRAIN --test TEST --tools TOOLS"


def _real(label: str, place: str, asked: float, *, is_at_most: bool = False, then: float | None = None) -> Goal:
    return Goal(label, "real_requests", f"results/{place}", asked, _REAL, is_at_most, then)


_SOURCES = ("slurp", "hwu", "smcalflow", "xsid", "almond", "ha")
_REAL_GOALS = (
    _real("real people's requests: right tool or rightly asked back", "all/served_requests/good", 0.90, then=0.606),
    *(_real(f"… of {source}", f"{source}/served_requests/good", 0.85) for source in _SOURCES),
    _real("… acting wrongly", "all/served_requests/acts_wrongly", 0.006, is_at_most=True, then=0.032),
    _real("… unserved: honest refusal", "all/unserved_requests/good", 0.93, then=0.82),
    _real("… unserved: acting wrongly", "all/unserved_requests/acts_wrongly", 0.005, is_at_most=True, then=0.020),
    Goal(
        "… unserved kinds never shown: refused, at .88 of tools", "unseen_kinds", "results/at_0.88/never_shown",
        0.88, "python -m training.unseen_kinds_measure", then=0.79,
    ),
)  # fmt: skip
_OWN_GOALS = tuple(
    Goal(f"own requests, {name}: {what}", "requests", f"results/{file}/recall/{key}", asked, _REQUESTS, most, then)
    for name, file, was in (
        ("held out", "held_out_requests", 0.585),
        ("blind", "blind_requests", 0.613),
        ("home", "home_requests", 0.62),
    )
    for what, key, asked, most, then in (
        ("right", "right", 0.72, False, was),
        ("wrong side effect", "wrong_side_effect", 0.01, True, None),
    )
)
_Q2A_GOALS = (
    Goal("Q2A, taught by each owner", "bench_q2a", "personal.right", 0.30, "hearth bench q2a --split test", then=0.174),
    Goal("Q2A, untaught", "bench_q2a", "untaught.right", 0.18, "hearth bench q2a --split test", then=0.099),
)
_CORRECTION_GOALS = (
    Goal("one correction: rephrasings right", "corrections", "results/rephrasings", 0.75, _CORRECTIONS, then=0.2),
    Goal("one correction: siblings right", "corrections", "results/siblings", 0.75, _CORRECTIONS, then=0.25),
    Goal("one correction: dangerous", "corrections", "results/dangerous", 0.0, _CORRECTIONS, is_at_most=True),
    Goal(
        "one correction: others changed", "corrections", "results/changed_elsewhere",
        0.005, _CORRECTIONS, is_at_most=True,
    ),
)  # fmt: skip
BFCL = (
    "hearth bench planning --train OUT/bfcl_train.jsonl --test OUT/bfcl_test.jsonl "
    "--tools FOLDER/bfcl/tool_desc.json --fast"
)
"""Measures functions never seen; `docs/howto/benchmarks.md` says how its files are written."""


def _kept(label: str, file: str, place: str, then: float, command: str = _PUBLIC, asked: float | None = None) -> Goal:
    return Goal(label, file, place, then if asked is None else asked, command, then=then)


_PUBLIC_GOALS = (
    Goal("BFCL, multiple: the right function", "bench_planning_bfcl", "tools_right_multiple", 0.99, BFCL, then=1.0),
    Goal(
        "BFCL, live multiple: the right function", "bench_planning_bfcl", "tools_right_live_multiple",
        0.95, BFCL, then=0.91,
    ),
    _kept("UltraTool: node F1", "bench_planning_ultratool", "node_f1", 0.883, asked=0.90),
    _kept("UltraTool: link F1", "bench_planning_ultratool", "link_f1", 0.702, asked=0.75),
    _kept("UltraTool: accuracy", "bench_planning_ultratool", "accuracy", 0.674, asked=0.74),
    _kept("UltraTool, tier one: node F1", "bench_planning_ultratool_fast", "node_f1", 0.873, f"{_PUBLIC} --fast"),
    _kept("UltraTool, tier one: link F1", "bench_planning_ultratool_fast", "link_f1", 0.672, f"{_PUBLIC} --fast"),
    _kept("UltraTool, tier one: accuracy", "bench_planning_ultratool_fast", "accuracy", 0.636, f"{_PUBLIC} --fast"),
    _kept("SGD: node F1", "bench_planning_sgd", "node_f1", 0.9017),
    _kept("NESTFUL: node F1", "bench_planning_nestful", "node_f1", 0.7794),
    _kept("NESTFUL: link F1", "bench_planning_nestful", "link_f1", 0.3908),
    _kept("NESTFUL: exact", "bench_planning_nestful", "exact", 0.3448),
    _kept("NesTools: link F1", "bench_planning_nestools", "link_f1", 0.8414),
    _kept(
        "continual, ten rounds: ACC", "bench_continual", "methods/student/acc", 0.8536,
        "hearth bench continual --rounds 10",
    ),
    Goal(
        "unlearning: one forgotten equals never seen, to the last bit", "learning",
        "results/forgotten_equals_never_seen", 1.0, f"{_MEASURE}learning.lifelong",
    ),
    Goal(
        "unlearning: thirty forgotten equal never seen, to the last bit", "learning",
        "results/thirty_forgotten_equal_never_seen", 1.0, f"{_MEASURE}learning.lifelong",
    ),
    Goal(
        "unlearning: of the heads that choose tools at home", "",
        "tests/unit/planning/test_tool_heads.py::test_order_does_not_count_and_what_is_forgotten_was_never_seen",
        1.0, "pytest tests/unit/planning/test_tool_heads.py",
    ),
    Goal(
        "unlearning: of everything that a home keeps", "", "tests/integration/test_exact_forgetting.py",
        1.0, "pytest tests/integration/test_exact_forgetting.py",
    ),
)  # fmt: skip
_COST_GOALS = (
    _real("a plan: CPU milliseconds, p50", "plan_cpu_ms/p50", 20.0, is_at_most=True, then=103.0),
    Goal(
        "a plan: Python calls", "walks", "results/ask/n_calls", 40_000, f"{_MEASURE}walks",
        is_at_most=True, then=376_000,
    ),
    Goal("a plan: files entered", "walks", "results/ask/n_files", 45, f"{_MEASURE}walks", is_at_most=True, then=84),
    Goal(
        "one example counts: CPU milliseconds, p50", "learning_cost", "results/one_example_cpu_ms/p50", 50.0, _COST,
        is_at_most=True,
    ),
    Goal(
        "300 examples learnt: CPU seconds", "learning_cost", "results/learnt_300_cpu_s", 1.0, _COST,
        is_at_most=True, then=0.7,
    ),
    Goal(
        "… with the gate that first tries them: CPU seconds", "learning_cost", "results/gate_300_cpu_s", 1.0, _COST,
        is_at_most=True,
    ),
    Goal(
        "`planning/`: lines", "structure", "results/now/planning/lines", 8_000, f"{_MEASURE}structure",
        is_at_most=True, then=13_900,
    ),
    Goal(
        "`planning/`: regular expressions", "structure", "results/now/planning/regular_expressions", 40,
        f"{_MEASURE}structure", is_at_most=True,
    ),
    Goal(
        "what each rule that stays is worth, left out: number of rules measured", "parts_left_out", "results/n_parts",
        None, f"{_MEASURE}planning.parts_left_out",
    ),
)  # fmt: skip
_PLANNING = GoalTable(
    "One planner, taught by what real people say",
    (
        *_REAL_GOALS,
        *_OWN_GOALS,
        *_Q2A_GOALS,
        *_CORRECTION_GOALS,
        *_PUBLIC_GOALS,
        *_COST_GOALS,
    ),
    "What was to stay as good as it was is asked to be no lower than the file of 22 November 2026.",
)

_RECALL = "hearth bench recall --data FILE"
_PREFEVAL = "hearth bench recall --prefeval DIR"
_ANSWER_GOALS = (
    Goal("extractive questions, the passage given: F1", "bench_answers", "extractive_f1", 0.75, _ANSWERS),
    Goal("extractive questions, end to end: F1", "bench_answers", "whole_extractive_f1", 0.65, _ANSWERS),
    Goal("unanswerable ones refused, given", "bench_answers", "refused_rightly", 0.80, _ANSWERS),
    Goal("answerable ones refused, given", "bench_answers", "refused_wrongly", 0.05, _ANSWERS, is_at_most=True),
    Goal("unanswerable ones refused, end to end", "bench_answers", "whole_refused_rightly", 0.80, _ANSWERS),
    Goal(
        "answerable ones refused, end to end", "bench_answers", "whole_refused_wrongly",
        0.05, _ANSWERS, is_at_most=True,
    ),
    Goal("yes or no", "bench_answers", "yesno_accuracy", None, _ANSWERS),
    Goal("count", "bench_answers", "count_accuracy", None, _ANSWERS),
    Goal("300 questions over homes, held out: right", "home_questions", "results/held_out/right", 0.80, _HOMES),
    Goal(
        "… wrong without doubt shown", "home_questions", "results/held_out/wrong_without_doubt",
        0.05, _HOMES, is_at_most=True,
    ),
    Goal("… computed ones right", "home_questions", "results/held_out/computed_right", 0.85, _HOMES),
    Goal("LoCoMo: evidence in the first 10", "bench_recall", "recall_at_10", 0.85, _RECALL, then=0.83),
    Goal("LoCoMo, several events: in the first 10", "bench_recall", "multi_hop_at_10", 0.60, _RECALL, then=0.51),
    Goal(
        "PrefEval: preference in the first 10 (meaning alone finds .455)", "bench_prefeval",
        "preference_recall_at_10", 0.4546, _PREFEVAL,
    ),
    Goal(
        "an outdated value said as current", "bench_prefeval", "changed_old_won", 0.03, _PREFEVAL,
        is_at_most=True, then=0.156,
    ),
    Goal(
        "… newer texts", "bench_prefeval", "newer_changed_old_won", 0.03, _PREFEVAL, is_at_most=True,
    ),
)  # fmt: skip


def _at_scale(label: str, place: str, asked: float, *, is_at_most: bool = True) -> Goal:
    return Goal(label, "home_at_scale", f"results/{place}", asked, _SCALE, is_at_most)


_SCALE_GOALS = (
    _at_scale("20,000 passages, a question: p95 ms", "question/question_p95_ms", 300.0),
    _at_scale("… the index's part: p95 ms", "question/index_p95_ms", 50.0),
    _at_scale("… bytes a passage", "question/bytes_per_passage", 1024.0),
    _at_scale("… a changed note answered anew: s", "question/changed_note_s", 1.0),
    _at_scale("1 GB of mail, first look: s", "look/first_look_s", 600.0),
    _at_scale("… resident MB", "look/first_look_mb", 400.0),
    _at_scale("… mails read twice after it was killed", "look/read_again", 0.0),
)
_NEWCOMER_GOALS = tuple(
    Goal(
        f"a newcomer's {n} questions, {who.replace('_', ' ')}: right when {when}",
        file, f"results/{who}/n_right", asked, command,
    )
    for who, n, asked in (
        ("piano_tuner", 20, 16),
        ("beekeeper", 20, 16),
        ("retired_midwife", 20, 16),
        ("sound_engineer", 20, 16),
        ("tiler", 10, 8),
        ("ferry_engineer", 20, 16),
        ("dental_nurse", 20, 16),
        ("night_baker", 20, 16),
        ("allotment_clerk", 20, 16),
    )
    for file, when, command in (
        ("newcomer_questions_first", "first asked", f"{_NEWCOMERS} --first WHO"),
        ("newcomer_questions", "asked again", _NEWCOMERS),
    )
)  # fmt: skip
_OWN_THINGS = GoalTable(
    "Answers from everything the owner has",
    (*_ANSWER_GOALS, *_SCALE_GOALS, *_NEWCOMER_GOALS),
    "Of newcomers' homes only the first answers are blind: what was mended since was mended with them in sight.",
)

GOALS: tuple[GoalTable, ...] = (_PLANNING, _OWN_THINGS)
