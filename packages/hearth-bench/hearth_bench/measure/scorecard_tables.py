"""Define the scorecard's tables: each one's file, columns, and the places (`key/key/…`) of its rows in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a table, with the prefix of its columns' keys in the file."""

    label: str
    at: str = ""
    by_definition: Mapping[str, float] | None = None
    """Values by column key, used instead of a place in the file."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the page."""

    group: str
    title: str
    file: str
    command: str
    columns: tuple[tuple[str, str], ...]
    """Pairs of heading and key."""
    rows: tuple[Row, ...]
    code: tuple[str, ...]
    """Paths of the measured code: a later commit to them makes the result old."""
    note: str = ""


PLANNING_CODE = (
    "src/hearth/planning",
    "src/hearth/language",
    "src/hearth/learning",
    "src/hearth/models",
    "src/hearth/data",
)
_NATURAL_CODE = (*PLANNING_CODE, "src/hearth/tools", "src/hearth/execution", "src/hearth/memory")
_MEMORY = ("src/hearth/memory",)
_GUARD = ("src/hearth/guard",)
_MERGING = (
    *PLANNING_CODE,
    "packages/hearth-cloud/hearth_cloud/statistics/robust_merge.py",
    "packages/hearth-cloud/hearth_cloud/statistics/private_sums.py",
    "packages/hearth-cloud/hearth_cloud/statistics/public_acts.py",
)
_VIDEO = ("packages/hearth-video/hearth_video/footage", "packages/hearth-video/hearth_video/experts")


def _same(keys: tuple[tuple[str, str], ...], value: float, **others: float) -> Mapping[str, float]:
    return {key: others.get(key, value) for _, key in keys}


# ── Planning ──────────────────────────────────────────────────────────────────────────────────────────────

_OWN = (
    ("right", "right"),
    ("tools right", "tools_right"),
    ("node F1", "node_f1"),
    ("refused rightly", "refusal_recall"),
    ("refused wrongly", "wrongly_refused"),
    ("wrong side effect", "wrong_side_effect"),
)
_PERFECT_OWN = Row("oracle", by_definition=_same(_OWN, 1.0, wrongly_refused=0.0, wrong_side_effect=0.0))
_PUBLIC = (("node F1", "node_f1"), ("link F1", "link_f1"), ("accuracy", "accuracy"), ("exact", "exact"))


_VERDICTS = ("good", "right", "asked", "refused", "memory", "wrong", "acts_wrongly")
_REAL_SOURCES = ("slurp", "hwu", "smcalflow", "xsid", "almond", "ha", "all")


def _real(title: str, key: str, columns: tuple[tuple[str, str], ...], floor: Row, *, has_slips: bool = False) -> Table:
    rows = tuple(Row(source, f"results/{source}/{key}/") for source in _REAL_SOURCES)
    oracle = Row("oracle", by_definition=_same(columns, 0.0, good=1.0, right=1.0))
    command = f"python -m hearth_bench.measure.planning.real_requests{' --slips' if has_slips else ''}"
    file = "real_requests_slips" if has_slips else "real_requests"
    return Table("Planning", title, file, command, columns, (floor, *rows, oracle), PLANNING_CODE)


def _own(title: str, key: str) -> Table:
    return Table(
        "Planning",
        title,
        "requests",
        "python -m hearth_bench.measure.planning.requests",
        _OWN,
        (
            Row("floor: the nearest demonstration copied", f"results/{key}/floor_nearest_copied/"),
            Row("recall", f"results/{key}/recall/"),
            _PERFECT_OWN,
        ),
        PLANNING_CODE,
    )


_NATURAL = (
    ("right", "right"),
    ("partly", "partly"),
    ("refused what it could do", "refused"),
    ("wrong, doubt shown", "wrong_shown"),
    ("wrong, looks like success", "wrong_silent"),
    ("dangerous", "dangerous"),
)


def _natural(title: str, side: str) -> Table:
    rows = (Row(person, f"results/{side}/{person}/") for person in ("margaret", "jordan", "rick", "all"))
    floor = Row("floor: refuses everything", f"results/{side}/floor_refuses_all/")
    oracle = Row("oracle", by_definition=_same(_NATURAL, 0.0, right=1.0))
    command = f"python -m hearth_bench.measure.planning.natural_requests --side {side}"
    return Table("Planning", title, "natural_requests", command, _NATURAL, (floor, *rows, oracle), _NATURAL_CODE)


def _conversations(title: str, side: str) -> Table:
    rows = (Row(person, f"results/{side}/{person}/") for person in ("margaret", "jordan", "rick", "all"))
    floor = Row("floor: the last turn read alone", f"results/{side}/floor_reads_alone/")
    oracle = Row("oracle", by_definition=_same(_NATURAL, 0.0, right=1.0))
    command = f"python -m hearth_bench.measure.planning.conversations --side {side}"
    return Table("Planning", title, "conversations", command, _NATURAL, (floor, *rows, oracle), _NATURAL_CODE)


def _public(title: str, file: str, note: str = "") -> Table:
    return Table(
        "Planning",
        title,
        file,
        "hearth bench planning",
        _PUBLIC,
        (
            Row("floor: the plan taught most", "floor_"),
            Row("floor: the nearest one copied", "floor_copy_"),
            Row("student"),
            Row("oracle: the best of its first six", "oracle_"),
        ),
        PLANNING_CODE,
        note,
    )


# ── All ───────────────────────────────────────────────────────────────────────────────────────────────────

_Q2A = (("right", "right"),)
_Q2A_MEASURES = (
    ("right", "right"),
    ("node F1", "node_f1"),
    ("value F1", "argument_value_f1"),
    ("executed", "executed"),
    ("wrong side effect", "wrong_side_effect"),
    ("p50 ms", "latency_p50_ms"),
)
_COSTS = (
    ("node F1", "node_f1"),
    ("executed", "executed"),
    ("calls", "cloud_calls"),
    ("tokens", "tokens"),
    ("bytes out", "bytes_out"),
    ("leaked", "privacy_leak"),
    ("p50 ms", "latency_p50_ms"),
    ("p95 ms", "latency_p95_ms"),
)
_STREAM = (
    ("ACC", "acc"),
    ("BWT", "bwt"),
    ("FWT", "fwt"),
    ("forgetting", "forgetting"),
    ("node F1 at the end", "final_node_f1"),
)
_FLEET = (
    ("exact", "last_days/exact"),
    ("put to the cloud", "last_days/asked"),
    ("exact without asking", "last_days/own_exact"),
    ("conventions, exact without asking", "conventions_last_days/own_exact"),
)
_ALWAYS_ASKING = Row("oracle: always asking", by_definition={"last_days/exact": 1.0, "last_days/asked": 1.0})
_OF_FLEET = (
    *PLANNING_CODE,
    "packages/hearth-bench/hearth_bench/data/q2a",
    "packages/hearth-bench/hearth_bench/fleet/habits.py",
)
_RECALL = tuple((f"evidence in the first {k}", f"recall_at_{k}") for k in (5, 10, 20, 50))
_ANSWER = (
    ("F1", "answer_f1"),
    ("several events", "answer_f1_multi_hop"),
    ("times", "answer_f1_temporal"),
    ("one event", "answer_f1_single_hop"),
)
_CHANGED = (("the new one", "changed_right"), ("the old one", "changed_old_won"), ("unchanged ones", "unchanged_right"))
_ASKED = (("right", "right"), ("refused what it cannot know", "refused"))
_FACTS = (
    ("precision", "precision"),
    ("recall", "recall"),
    ("nothing kept of what holds no fact", "without_facts_kept_empty"),
)
_MASK = (
    ("masked", "masked_share"),
    ("with a form, found", "structured_recall"),
    ("with a form, rightly", "structured_precision"),
    ("texts masked whole", "documents_fully_masked"),
    ("masked characters rightly", "char_precision"),
)
_ATTACKS = (
    ("done without asking", "utility_no_ask"),
    ("done with one question", "utility_one_ask"),
    ("questions a task", "approvals_per_task"),
    ("attacks that reach their goal", "asr_worst"),
    ("attacks that write anything", "any_write"),
)
_DETECT = (("ROC-AUC", "roc_auc"), ("found", "detection_rate"), ("false alarms", "false_alarm_rate"))
_PEOPLE = (("known people named rightly", "known_right"), ("strangers named", "strangers_named"))
_PRESENT = (
    ("F1 of presence", "presence_f1"),
    ("frames rightly", "n_right"),
    ("wrongly", "n_false"),
    ("missed", "n_missed"),
)


def _mask(title: str, file: str, command: str) -> Table:
    return Table(
        "Privacy",
        title,
        file,
        command,
        _MASK,
        (
            Row("floor: nothing masked", "rows/floor: nothing masked/"),
            Row("by form", "rows/forms/"),
            Row("by form, a third of the people known", "rows/forms, a third known/"),
            Row("by form and the tagger", "rows/forms, tagger/"),
            Row("as the settings have it", "rows/kinds of the settings: forms, tagger/"),
            Row("oracle", by_definition=_same(_MASK, 1.0)),
        ),
        _GUARD,
    )


def _attacks(title: str, file: str, suite: str, note: str = "") -> Table:
    return Table(
        "Guard",
        title,
        file,
        f"hearth bench injection --suite {suite}",
        _ATTACKS,
        (
            Row("floor: every write asks", "floor_"),
            Row("floor: no guard", "none_"),
            Row("warrant"),
            Row("oracle", by_definition=_same(_ATTACKS, 0.0, utility_no_ask=1.0, utility_one_ask=1.0)),
        ),
        _GUARD,
        note,
    )


_SERVED = (
    ("right tool, or rightly asked back", "good"),
    ("right tool", "right"),
    ("asked needlessly", "asked"),
    ("refused", "refused"),
    ("acts wrongly", "acts_wrongly"),
)
_UNSEEN_KINDS = (
    ("refused: kinds never shown", "never_shown"),
    ("kinds shown", "shown"),
    ("served: right tool", "tools"),
)
_REFUSES_ALL = Row("floor: refuses everything", by_definition={**dict.fromkeys(_VERDICTS, 0.0), "refused": 1.0})

TABLES: tuple[Table, ...] = (
    _own("Held-out requests of the kinds that were taught", "held_out_requests"),
    _own("Requests written by somebody who had not seen the demonstrations", "blind_requests"),
    _own("Requests to a home", "home_requests"),
    _own("In the words of sixty invented people, a fifth held out", "varied_requests"),
    _own("Of invented people's whole week, a fifth held out", "week_requests"),
    _own("Of 32 more invented people, of whom nothing was learnt (a development set)", "new_people_requests"),
    _own("Of 16 more, whom nobody looked at", "unseen_people_requests"),
    _real(
        "What real people said, a held-out tenth: requests that a tool serves",
        "served_requests",
        _SERVED,
        _REFUSES_ALL,
    ),
    _real(
        "The same requests, with a slip of the hand in one of five longer words",
        "served_requests",
        _SERVED,
        _REFUSES_ALL,
        has_slips=True,
    ),
    _real(
        "What real people said, a held-out tenth: requests that no tool serves",
        "unserved_requests",
        (
            ("refused, or harmless as noted", "good"),
            ("memory asked", "memory"),
            ("wrong look-up", "wrong"),
            ("acts wrongly", "acts_wrongly"),
        ),
        Row(
            "floor: looks something up, whatever is said", by_definition={**dict.fromkeys(_VERDICTS, 0.0), "wrong": 1.0}
        ),
    ),
    Table(
        "Planning",
        "What real people said, a held-out tenth: kinds that no tool serves, left out of what the heads learn",
        "unseen_kinds",
        "python -m training.unseen_kinds_measure",
        _UNSEEN_KINDS,
        (
            Row("floor: refuses everything", by_definition=_same(_UNSEEN_KINDS, 1.0, tools=0.0)),
            Row("floor: refuses nothing", "results/refuses_nothing/"),
            Row("heads, refusing as much as .88 of tools allow", "results/at_0.88/"),
            Row("heads, as much as .88 of another tenth's allow", "results/carried_over/"),
            Row("heads, as much as .90 allow", "results/at_0.9/"),
            Row("heads, as much as .92 allow", "results/at_0.92/"),
            Row("heads, refusing where nothing is likeliest", "results/as_shipped/"),
            Row("oracle", by_definition=_same(_UNSEEN_KINDS, 1.0)),
        ),
        (*PLANNING_CODE, "training/tool_heads_train.py", "training/unseen_kinds_measure.py"),
        "A fifth of the kinds at a time. The heads alone: not the classifier that is added to them, nor whole plans.",
    ),
    _natural("Natural requests of three people, run in homes of their own: two thirds that were looked at", "dev"),
    _natural("Natural requests of three people: the third that nobody looks at", "blind"),
    _conversations("Revisions and follow-ups of three people: the half that was looked at", "dev"),
    _conversations("Revisions and follow-ups of three people: the half that nobody looks at", "blind"),
    Table(
        "Planning",
        "Q2A: six owners, eight weeks",
        "bench_q2a",
        "hearth bench q2a --split test",
        _Q2A,
        (
            Row("floor: the nearest of the owner's own copied", "floor_nearest."),
            Row("untaught", "untaught."),
            Row("taught by everybody", "shared."),
            Row("taught by each owner", "personal."),
            Row("oracle", "oracle."),
        ),
        (*PLANNING_CODE, "packages/hearth-bench/hearth_bench/data/q2a"),
    ),
    Table(
        "Planning",
        "Q2A: ten instructions of each owner",
        "bench_q2a_quick",
        "hearth bench q2a --split dev --limit 10 --jobs 2",
        _Q2A_MEASURES,
        (
            Row("floor: the nearest of the owner's own copied", "floor_nearest."),
            Row("untaught", "untaught."),
            Row("taught by everybody", "shared."),
            Row("taught by each owner", "personal."),
            Row("oracle", by_definition=_same(_Q2A_MEASURES, 1.0, wrong_side_effect=0.0, latency_p50_ms=0.0)),
        ),
        (*PLANNING_CODE, "packages/hearth-bench/hearth_bench/data/q2a"),
        "Of the development split: for `make bench`, not for the last word.",
    ),
    Table(
        "Planning",
        "A student on the device, a teacher in the cloud: what asking is worth, and what it costs a request",
        "asking_costs",
        "python -m hearth_bench.measure.cloud.teacher_cost",
        _COSTS,
        (
            Row("floor: nobody is asked", "results/never/"),
            Row("asked when not sure", "results/when_not_sure/"),
            Row("always asked", "results/always/"),
            Row("always asked, unmasked", "results/always_unmasked/"),
            Row("oracle: right, for nothing", by_definition=_same(_COSTS, 0.0, node_f1=1.0, executed=1.0)),
        ),
        (*PLANNING_CODE, *_GUARD, "examples/ianvs", "packages/hearth-bench/hearth_bench/scoring/system_metrics.py"),
        "The example `examples/ianvs/jointinference`, 41 instructions of one owner; leaked is the share of contacts' "
        "names, addresses and numbers said that left with the request.",
    ),
    _public("UltraTool", "bench_planning_ultratool", "With the trained second tier."),
    _public("UltraTool without the second tier", "bench_planning_ultratool_fast"),
    _public("Schema-guided dialogue", "bench_planning_sgd", "Single calls: it has no links."),
    _public("NESTFUL", "bench_planning_nestful"),
    _public("NesTools", "bench_planning_nestools", "Tools are given: a request's list is its plan."),
    Table(
        "Planning",
        "Few-shot on Q2A, development side: what examples give without a model",
        "few_shot",
        "python -m hearth_bench.measure.learning.few_shot",
        (
            ("right", "right"),
            ("node F1", "node_f1"),
            ("executed", "executed"),
            ("wrong side effect", "wrong_side_effect"),
        ),
        (
            Row("floor: no example", "results/choices/none/"),
            Row("four at random", "results/choices/random/"),
            Row("the four nearest", "results/choices/nearest/"),
            Row("oracle", by_definition={"right": 1.0, "node_f1": 1.0, "executed": 1.0, "wrong_side_effect": 0.0}),
        ),
        ("src/hearth/planning/llm", "packages/hearth-bench/hearth_bench/suites/few_shot_suite.py"),
        "A scripted endpoint repeats the last example it is shown.",
    ),
    Table(
        "Learning",
        "UltraTool in ten rounds by domain",
        "bench_continual",
        "hearth bench continual --rounds 10",
        _STREAM,
        (
            Row("floor: fine-tuning, naive", "methods/finetune/"),
            Row("floor: recall alone", "methods/recall/"),
            Row("fine-tuning with replay", "methods/replay/"),
            Row("student", "methods/student/"),
            Row("oracle: everything at once", "methods/joint/"),
        ),
        PLANNING_CODE,
    ),
    Table(
        "Learning from others",
        "A new edge with and without what five others and the public demonstrations know (Q2A)",
        "merging",
        "python -m hearth_bench.measure.learning.prior_gain --split test",
        (("right tools in order", "right"), ("node F1", "node_f1")),
        (
            Row("floor: nothing taught", "results/curves.small.test/blank.0/"),
            Row("20 of its own, no prior", "results/curves.small.test/blank.20/"),
            Row("60 of its own, no prior", "results/curves.small.test/blank.60/"),
            Row("all of its own (some 110), no prior", "results/curves.small.test/blank.200/"),
            Row("prior, none of its own", "results/curves.small.test/others_and_shipped.0/"),
            Row("prior and 20 of its own", "results/curves.small.test/others_and_shipped.20/"),
            Row("prior and 60 of its own", "results/curves.small.test/others_and_shipped.60/"),
            Row("prior and all of its own", "results/curves.small.test/others_and_shipped.200/"),
            Row("oracle", by_definition={"right": 1.0, "node_f1": 1.0}),
        ),
        (*PLANNING_CODE, "packages/hearth-cloud/hearth_cloud/statistics/robust_merge.py"),
    ),
    Table(
        "Learning from others",
        "Two of five givers are poisoned: a new edge begun from what is merged",
        "merging",
        "python -m hearth_bench.measure.learning.prior_gain --part poison --split test",
        (("right tools in order", "right"), ("node F1", "node_f1")),
        (
            Row("oracle: the three honest ones alone", "results/poison.small.test/honest_three/"),
            Row("floor: everything added, tools swapped", "results/poison.small.test/swapped.sum/"),
            Row("judged, tools swapped", "results/poison.small.test/swapped.robust/"),
            Row("judged, plans by lot", "results/poison.small.test/by lot.robust/"),
            Row("judged, always one tool", "results/poison.small.test/one tool.robust/"),
            Row("judged, flipped", "results/poison.small.test/flipped.robust/"),
        ),
        (*PLANNING_CODE, "packages/hearth-cloud/hearth_cloud/statistics/robust_merge.py"),
    ),
    Table(
        "Learning from others",
        "Attacks on priors of six founders: who gave what (.5 is a guess)",
        "prior_privacy",
        "python -m hearth_bench.measure.learning.prior_privacy",
        (
            ("difference, AUC", "difference_auc"),
            ("membership, AUC", "membership_auc"),
            ("inversion, AUC", "inversion_auc"),
            ("canaries back of 1,000", "canaries_back"),
        ),
        (
            Row("floor: exact sums, for one owner's devices", "results/attacks/exact/"),
            Row("noise, epsilon 16", "results/attacks/epsilon 16/"),
            Row("noise, epsilon 4, the default", "results/attacks/epsilon 4/"),
            Row("oracle: a prior of others", "results/attacks/nobody's part/"),
        ),
        _MERGING,
    ),
    Table(
        "Learning from others",
        "What a prior of many owners is worth to a new device, taught what is shipped and 20 of its own (Q2A, dev)",
        "merging",
        "python -m hearth_bench.measure.learning.prior_gain --part private --split dev",
        (("right tools in order", "right"), ("node F1", "node_f1")),
        (
            Row("floor: no prior", "results/private.small.dev/none/"),
            Row("five others', exact", "results/private.small.dev/exact_5/"),
            Row("1,000 owners, epsilon 4", "results/private.small.dev/private_1000.epsilon_4/"),
            Row("20,000 owners, epsilon 4", "results/private.small.dev/private_20000.epsilon_4/"),
            Row("100,000 owners, epsilon 4", "results/private.small.dev/private_100000.epsilon_4/"),
            Row("oracle", by_definition={"right": 1.0, "node_f1": 1.0}),
        ),
        _MERGING,
    ),
    Table(
        "Learning from others",
        "Three in ten of forty givers are poisoned: what reaches the attacker's tool, or a stronger effect",
        "prior_poison",
        "python -m hearth_bench.measure.learning.prior_poison",
        (
            ("success, all added", "plain/success"),
            ("success, held", "held/success"),
            ("right, all added", "plain/right"),
            ("right, held", "held/right"),
        ),
        (
            Row("oracle: honest givers", by_definition={"plain/success": 0.0, "held/success": 0.0}),
            Row("reads become a change", "results/reads become a change, 30%/"),
            Row("a change becomes a send", "results/a change becomes a send, 30%/"),
            Row("tools swapped", "results/tools swapped, 30%/"),
            Row("always one tool", "results/always one tool, 30%/"),
            Row("tools by lot", "results/tools by lot, 30%/"),
            Row("floor: everything reaches it", by_definition={"plain/success": 1.0, "held/success": 1.0}),
        ),
        _MERGING,
    ),
    Table(
        "Learning",
        "A fleet of a thousand simulated owners, the last four of thirty days",
        "fleet",
        "hearth fleet simulate --edges 1000",
        _FLEET,
        (
            Row("floor: the nearest demonstration copied, never asking", "floor/"),
            Row("one student for all", "ways/shared/"),
            Row("a student of one's own", "ways/personal/"),
            Row("begun with the merged prior, newcomers alone", "ways/merged/"),
            Row("begun with what is shipped, newcomers alone", "ways/shipped/"),
            _ALWAYS_ASKING,
        ),
        _OF_FLEET,
    ),
    Table(
        "Learning",
        "New edges on what nobody of a thousand was ever taught, without asking",
        "fleet",
        "hearth fleet simulate --edges 1000",
        (
            ("exact", "exact"),
            ("of what others may know", "exact_common"),
            ("of the owner's own conventions", "exact_convention"),
            ("node F1", "node_f1"),
            ("right tools", "tools"),
        ),
        (
            Row("floor: blank, after 20 requests", "numbers/newcomers/merged/blank_after_20/"),
            Row("blank, after 200 requests", "numbers/newcomers/merged/blank_after_200/"),
            Row("begun with what is shipped, after 20", "numbers/newcomers/shipped/begun_after_20/"),
            Row("with the merged prior beside it, before any", "numbers/newcomers/merged/begun_after_0/"),
            Row("with the merged prior beside it, after 20", "numbers/newcomers/merged/begun_after_20/"),
            Row(
                "oracle: always asking",
                by_definition=dict.fromkeys(("exact", "exact_common", "exact_convention", "node_f1", "tools"), 1.0),
            ),
        ),
        _OF_FLEET,
    ),
    Table(
        "Learning",
        "What privacy costs a new edge of a thousand, the last four of thirty days",
        "fleet_private",
        "hearth fleet simulate --edges 1000 --ways personal,merged,private,shipped",
        _FLEET,
        (
            Row("floor: the nearest demonstration copied, never asking", "floor/"),
            Row("begun with the merged prior, exact sums", "ways/merged/"),
            Row("begun with the private prior (differential privacy, the default)", "ways/private/"),
            Row("begun with what is shipped", "ways/shipped/"),
            _ALWAYS_ASKING,
        ),
        _OF_FLEET,
    ),
    Table(
        "Learning",
        "The same new edges on what nobody was ever taught, without asking, after 20 requests",
        "fleet_private",
        "hearth fleet simulate --edges 1000 --ways personal,merged,private,shipped",
        (
            ("exact", "exact"),
            ("of what others may know", "exact_common"),
            ("node F1", "node_f1"),
            ("right tools", "tools"),
        ),
        (
            Row("floor: blank, after 20 requests", "numbers/newcomers/merged/blank_after_20/"),
            Row("with the merged prior, exact sums", "numbers/newcomers/merged/begun_after_20/"),
            Row("with the private prior", "numbers/newcomers/private/begun_after_20/"),
            Row("with what is shipped alone", "numbers/newcomers/shipped/begun_after_20/"),
            Row(
                "oracle: always asking",
                by_definition=dict.fromkeys(("exact", "exact_common", "node_f1", "tools"), 1.0),
            ),
        ),
        _OF_FLEET,
    ),
    Table(
        "Learning",
        "Ninety-six simulated owners, five ways of learning, the last four of thirty days",
        "fleet_ways",
        "hearth fleet simulate --edges 96",
        _FLEET,
        (
            Row("floor: the nearest demonstration copied, never asking", "floor/"),
            Row("one student for all", "ways/shared/"),
            Row("a student of one's own", "ways/personal/"),
            Row("begun with the merged prior, newcomers alone", "ways/merged/"),
            Row("begun with the prior of other personas, newcomers alone", "ways/strangers/"),
            Row("begun with what is shipped, newcomers alone", "ways/shipped/"),
            _ALWAYS_ASKING,
        ),
        _OF_FLEET,
    ),
    Table(
        "Memory",
        "Evidence found in long conversations (LoCoMo)",
        "bench_recall",
        "hearth bench recall",
        _RECALL,
        (
            Row("floor: by words", "floor_words_"),
            Row("floor: by meaning", "floor_meaning_"),
            Row("a quick look", "quick_"),
            Row("a close look"),
            Row("oracle", by_definition=_same(_RECALL, 1.0)),
        ),
        _MEMORY,
    ),
    Table(
        "Memory",
        "Answers out of them",
        "bench_recall",
        "hearth bench recall",
        _ANSWER,
        (
            Row("floor: a search of files", "floor_file_search_"),
            Row("floor: the best event", "floor_best_event_"),
            Row("floor: everything", "floor_everything_"),
            Row("answers"),
            Row("oracle", by_definition=_same(_ANSWER, 1.0)),
        ),
        _MEMORY,
        "F1 of words; no language model.",
    ),
    Table(
        "Memory",
        "Preferences that changed",
        "bench_changed",
        "hearth bench recall",
        _CHANGED,
        (
            Row("floor: by words", "floor_words_"),
            Row("floor: the best event", "floor_events_"),
            Row("memory"),
            Row("oracle", by_definition=_same(_CHANGED, 1.0, changed_old_won=0.0)),
        ),
        _MEMORY,
    ),
    Table(
        "Memory",
        "The same, newer texts, also looked at while working",
        "bench_changed",
        "hearth bench recall",
        _CHANGED,
        (
            Row("floor: by words", "newer_floor_words_"),
            Row("floor: the best event", "newer_floor_events_"),
            Row("memory", "newer_"),
            Row("oracle", by_definition=_same(_CHANGED, 1.0, changed_old_won=0.0)),
        ),
        _MEMORY,
    ),
    Table(
        "Memory",
        "Asked what it was told",
        "asking",
        "python -m hearth_bench.measure.memory.memory_questions",
        _ASKED,
        (
            Row("floor: the first event found", "results/floor_first_event_"),
            Row("memory", "results/"),
            Row("oracle", by_definition=_same(_ASKED, 1.0)),
        ),
        _MEMORY,
    ),
    Table(
        "Memory",
        "Facts out of sentences",
        "facts",
        "python -m hearth_bench.measure.memory.fact_precision",
        _FACTS,
        (
            Row("floor: keeps nothing", by_definition={"recall": 0.0, "without_facts_kept_empty": 1.0}),
            Row("sentences seen while writing it", "results/seen/"),
            Row("unseen ones", "results/unseen/"),
            Row("oracle", by_definition=_same(_FACTS, 1.0)),
        ),
        _MEMORY,
    ),
    _mask(
        "Own messages",
        "privacy_messages",
        "hearth bench privacy --data packages/hearth-bench/hearth_bench/data/messages.jsonl",
    ),
    _mask("Presidio's research set", "privacy_public", "hearth bench privacy"),
    _attacks("Own tasks and attacks", "bench_injection_own", "own", "The planner is wholly in the attacker's hands."),
    _attacks("The same, before the attacks were looked at", "bench_injection_own_blind", "own", "Kept as it was."),
    _attacks("AgentDojo", "bench_injection_agentdojo", "agentdojo"),
    Table(
        "Guard",
        "Instructions inside mails, types never trained on",
        "detector",
        "python -m training.injection_classifier_measure",
        _DETECT,
        (
            Row("floor: a coin", by_definition={"roc_auc": 0.5}),
            Row("detector, mails", "results/held_out_types/email/"),
            Row("detector, tables", "results/held_out_types/table/"),
            Row("oracle", by_definition=_same(_DETECT, 1.0, false_alarm_rate=0.0)),
        ),
        _GUARD,
    ),
    Table(
        "Home video",
        "Whether somebody is there: a filmed clip",
        "video_person",
        "python -m hearth_bench.measure.video.video_person",
        _PRESENT,
        (
            Row("floor: always somebody", "results/clip/always_somebody/"),
            Row("floor: change alone", "results/clip/change_alone/"),
            Row("as shipped", "results/clip/shipped/"),
            Row("oracle: the truth, as coarse as it is asked", "results/clip/oracle/"),
        ),
        _VIDEO,
    ),
    Table(
        "Home video",
        "Who it is: photographs",
        "video_identity",
        "python -m hearth_bench.measure.video.video_identity",
        _PEOPLE,
        (
            Row("floor: names nobody", "results/floor_names_nobody/"),
            Row("as shipped", "results/asked/"),
            Row("oracle", "results/oracle/"),
        ),
        _VIDEO,
    ),
    Table(
        "Home video",
        "Sixty questions about real footage: the right type, and true to the sightings",
        "footage_questions",
        "python -m hearth_bench.measure.video.footage_answers",
        (("right", "right"),),
        (
            Row("floor: lists the sightings", "results/floor_lists_sightings/"),
            Row("as shipped", "results/"),
            Row("sixty again, the half that was looked at", "results/again/looked_at/"),
            Row("sixty again, the half that is only counted", "results/again/held/"),
            Row("oracle: the index", "results/oracle/"),
        ),
        (
            *_VIDEO,
            "packages/hearth-video/hearth_video/tools",
            "src/hearth/planning/dialogue/fallbacks.py",
        ),
        "All were written before any was asked: the first sixty by the hand that wrote the reader, sixty again from "
        "the sightings alone. Of the first sixty four that came out wrong were looked at since, and mended.",
    ),
    Table(
        "Beside others",
        "A step of the agent loop, CPU milliseconds",
        "agent_loop",
        "packages/hearth-bench/hearth_bench/measure/agent/peers/run.sh",
        (("1 tool", "1_tools"), ("100 tools", "100_tools")),
        (
            Row("floor: langgraph, which keeps a record too", "results/cpu_ms_per_step/@langgraph_sqlite/"),
            Row("floor: smolagents, without a record", "results/cpu_ms_per_step/@smolagents/"),
            Row("Hearth, with its record", "results/cpu_ms_per_step/@hearth/"),
            Row("oracle: no time", by_definition={"1_tools": 0.0, "100_tools": 0.0}),
        ),
        ("src/hearth/agent.py", "src/hearth/execution", "src/hearth/storage/database.py"),
    ),
    Table(
        "Beside others",
        "The same lifelong job, seconds with start-up",
        "ianvs_beside",
        "python -m hearth_bench.measure.cloud.ianvs_beside",
        (("wall", "wall"), ("processor", "cpu")),
        (
            Row("floor: real Ianvs", "results/@ianvs_median_s/"),
            Row("Hearth", "results/@hearth_median_s/"),
            Row("oracle: no time", by_definition={"wall": 0.0, "cpu": 0.0}),
        ),
        (
            "packages/hearth-bench/hearth_bench/ianvs/job_runner.py",
            "packages/hearth-bench/hearth_bench/ianvs/cases/job_case.py",
            "packages/hearth-bench/hearth_bench/ianvs/paradigms.py",
            "packages/hearth-bench/hearth_bench/ianvs/cases/local_processes.py",
        ),
        "Medians of pairs run in turn; asked is a fifth.",
    ),
    Table(
        "Beside others",
        "The metrics of 10,000 plans, seconds; a stream of a million lines, bytes held",
        "plan_metrics",
        "python -m hearth_bench.measure.planning.speed.metric_speed",
        (("10,000 plans", "metrics/all_s"), ("a million lines", "stream/peak_rss_bytes")),
        (
            Row("floor: asked at most", by_definition={"metrics/all_s": 5.0, "stream/peak_rss_bytes": 300_000_000}),
            Row("Hearth", "results/"),
            Row("oracle: nothing", by_definition={"metrics/all_s": 0.0, "stream/peak_rss_bytes": 0.0}),
        ),
        (
            "packages/hearth-bench/hearth_bench/metrics/plan_metrics.py",
            "packages/hearth-bench/hearth_bench/metrics/argument_f1.py",
            "packages/hearth-bench/hearth_bench/metrics/taskbench.py",
        ),
        "All metrics of plans, ROUGE included. Not part of `make bench`: the million lines take minutes.",
    ),
    Table(
        "Beside others",
        "Masking, characters a second",
        "masking_speed",
        "python -m hearth_bench.measure.guard.masking_speed",
        (("characters", "chars_per_s"),),
        (Row("floor: presidio", "results/presidio_"), Row("Hearth", "results/")),
        _GUARD,
        "Of a speed there is no oracle.",
    ),
    Table(
        "Times",
        "An encrypted home, milliseconds",
        "encryption_cost",
        "python -m hearth_bench.measure.guard.encryption_cost",
        (("opening", "open_ms"), ("a question", "question_ms"), ("a step", "step_ms"), ("every file", "read_files_ms")),
        (
            Row("floor: its database and every file", "results/database_and_files/"),
            Row("its database", "results/database/"),
            Row("oracle: nothing", "results/plain/"),
        ),
        ("src/hearth/storage",),
        "Medians; the passphrase takes a second more, once in a process. A disk can cover more.",
    ),
    Table(
        "Times",
        "Planning, milliseconds",
        "planning",
        "python -m hearth_bench.measure.planning.speed.recall_at_size",
        (("p50", "p50_ms"), ("p95", "p95_ms")),
        (
            Row("floor: 10,000 demonstrations and 10,000 tools", "results/10000_demonstrations_10000_tools/"),
            Row("as shipped", "results/shipped_demonstrations/"),
            Row("oracle: no time", by_definition={"p50_ms": 0.0, "p95_ms": 0.0}),
        ),
        PLANNING_CODE,
        "The floor is the worst load.",
    ),
    Table(
        "Times",
        "How far a request walks",
        "walks",
        "python -m hearth_bench.measure.walks",
        (("files entered", "n_files"), ("Python calls", "n_calls")),
        (
            Row(
                "floor: an ask before its tools were chosen by heads", by_definition={"n_files": 84, "n_calls": 376_000}
            ),
            Row("an ask", "results/ask/"),
            Row("a correction", "results/correct/"),
            Row("oracle: the most that was asked for", by_definition={"n_files": 45, "n_calls": 40_000}),
        ),
        _NATURAL_CODE,
    ),
    Table(
        "Times",
        "The size of the planner",
        "structure",
        "python -m hearth_bench.measure.structure",
        (("lines", "lines"), ("regular expressions", "regular_expressions")),
        (
            Row("floor: before there was one planner", by_definition={"lines": 13_900}),
            Row("`planning/`", "results/now/planning/"),
            Row("oracle: the most that was asked for", by_definition={"lines": 8_000, "regular_expressions": 40}),
        ),
        ("src/hearth/planning",),
        "The grammar of times lies in `language/`.",
    ),
    Table(
        "Times",
        "From the command to the first word, seconds",
        "start",
        "python -m hearth_bench.measure.agent.cold_start",
        (("p50", "s"),),
        (
            Row("floor: first start, with learning", "results/init_with_learning_"),
            Row("hearth ask", "results/ask_first_output_p50_"),
            Row("oracle: hearth --help", "results/help_p50_"),
        ),
        ("src/hearth/cli", "src/hearth/agent.py", "src/hearth/models"),
    ),
    Table(
        "Times",
        "The service behind HAProxy under pressure: what others notice, ms",
        "cloud_pressure",
        "python -m hearth_bench.measure.cloud.service_pressure",
        (
            ("/healthz p50", "healthz/p50_ms"),
            ("/healthz p99", "healthz/p99_ms"),
            ("plans p50", "plans/p50_ms"),
            ("plans p99", "plans/p99_ms"),
        ),
        (
            Row("floor: nobody answers", by_definition={"healthz/p50_ms": 30000.0, "plans/p50_ms": 30000.0}),
            Row("oracle: nobody presses", "results/behind HAProxy/nobody/"),
            Row("2,200 idle connections", "results/behind HAProxy/2,200 idle connections/"),
            Row("1,000 bombs", "results/behind HAProxy/1,000 bombs/"),
            Row("slow readers", "results/behind HAProxy/slow readers/"),
            Row("slow writers", "results/behind HAProxy/slow writers/"),
        ),
        ("packages/hearth-cloud/hearth_cloud/service", "deploy/proxy"),
    ),
    Table(
        "Times",
        "Several replicas behind HAProxy, with PostgreSQL, Redis and S3 on the same two cores",
        "cloud_replicas",
        "python -m hearth_bench.measure.cloud.service_replicas",
        (
            ("plans/s", "plans/plans_per_s"),
            ("p50, ms", "plans/p50_ms"),
            ("p99, ms", "plans/p99_ms"),
            ("load", "load_average"),
            ("acknowledged while each part was killed", "kills/demonstrations_acknowledged"),
            ("of them lost", "kills/demonstrations_lost"),
        ),
        (
            Row("floor: nothing is answered, and all is lost", by_definition={"plans/plans_per_s": 0.0}),
            Row("oracle: nothing is lost", by_definition={"kills/demonstrations_lost": 0.0}),
            Row("2 replicas", "results/2 replicas/"),
            Row("4 replicas", "results/4 replicas/"),
            Row("8 replicas", "results/8 replicas/"),
        ),
        ("packages/hearth-cloud/hearth_cloud", "deploy/proxy"),
    ),
    Table(
        "Times",
        "The page of `hearth up`",
        "serving",
        "python -m hearth_bench.measure.agent.serving",
        (
            ("first load, ms", "first_load_ms"),
            ("question after the plan, ms", "question_after_plan_p50_ms"),
            ("kB compressed", "page_gzip_kb"),
            ("above the agent, OpenAI, ms", "openai_above_agent_p50_ms"),
            ("one page, of 20 people, ms", "page_of_20_people_p50_ms"),
            ("idle, % of a core", "idle_cpu_percent"),
            ("MB", "resident_mb"),
        ),
        (
            Row(
                "floor: the most that was asked for",
                by_definition={
                    "first_load_ms": 600.0,
                    "question_after_plan_p50_ms": 200.0,
                    "page_gzip_kb": 100.0,
                    "openai_above_agent_p50_ms": 10.0,
                    "idle_cpu_percent": 0.5,
                    "resident_mb": 350.0,
                },
            ),
            Row("measured", "results/"),
            Row(
                "oracle: nothing beside the agent's own time",
                by_definition={
                    "first_load_ms": 0.0,
                    "question_after_plan_p50_ms": 0.0,
                    "openai_above_agent_p50_ms": 0.0,
                    "idle_cpu_percent": 0.0,
                },
            ),
        ),
        ("src/hearth/serve",),
        "Goals are upper bounds. 10,000 nearly right requests got no 5xx.",
    ),
    Table(
        "Times",
        "A thousand reminders within a minute, fifty kills, a clock that jumps",
        "serving",
        "python -m hearth_bench.measure.agent.serving",
        (("rang once", "rang_once"), ("rang early", "rang_early"), ("latest, s", "rang_latest_s")),
        (
            Row("floor: nothing rings", by_definition={"rang_once": 0.0, "rang_early": 0.0}),
            Row("oracle", by_definition={"rang_once": 1000.0, "rang_early": 0.0, "rang_latest_s": 0.0}),
            Row("measured", "results/"),
        ),
        ("src/hearth/serve",),
    ),
)
