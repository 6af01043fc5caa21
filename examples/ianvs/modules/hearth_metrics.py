"""Metrics of plans for all three examples: Hearth's own (`hearth_bench`), under names that YAML files use.

Node, link and argument scores are over requests that have a right plan; `accuracy` and `exact` are over all: where the
right thing is to refuse or to ask back, a plan without steps is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sedna.common.class_factory import ClassFactory, ClassType

from hearth.types import Plan
from hearth_bench.data.datasets import gold_of, graph_of
from hearth_bench.metrics.argument_f1 import argument_scores
from hearth_bench.metrics.plan_metrics import is_accurate, plan_scores
from hearth_bench.scoring.system_metrics import NotMeasured, measure_system
from hearth_bench.suites.q2a.q2a_suite import is_same
from hearth_plans import plan_of, tools


def pairs(y_true: Sequence[str], y_pred: Sequence[Any]) -> list[tuple[Plan, Plan]]:
    """Right plan and predicted one."""
    return [(plan_of(right), plan_of(predicted)) for right, predicted in zip(y_true, y_pred)]


def planned(y_true: Sequence[str], y_pred: Sequence[Any]) -> list[tuple[Plan, Plan]]:
    """Of requests that have a right plan."""
    return [(right, predicted) for right, predicted in pairs(y_true, y_pred) if right.steps]


def graph_score(key: str, y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """A score of `hearth_bench.metrics.plan_metrics.plan_scores`."""
    both = planned(y_true, y_pred)
    golds = [gold_of(right).graph for right, _ in both]
    found = plan_scores([graph_of(predicted) for _, predicted in both], golds, set(tools())) if both else {}
    return round(found.get(key, 0.0), 4)


@ClassFactory.register(ClassType.GENERAL, alias="node_f1")
def node_f1(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Are the tools right?"""
    return graph_score("node_f1", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="link_f1")
def link_f1(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Do results go where they belong?"""
    return graph_score("link_f1", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="value_f1")
def value_f1(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Are the values of arguments right?"""
    both = planned(y_true, y_pred)
    golds = [gold_of(right).calls for right, _ in both]
    found = argument_scores([predicted.steps for _, predicted in both], golds, tools())["arg_value_f1"]
    return round(found or 0.0, 4)


@ClassFactory.register(ClassType.GENERAL, alias="exact")
def exact(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Is the plan right in all?"""
    both = pairs(y_true, y_pred)
    return round(sum(is_same(predicted.steps, right.steps) for right, predicted in both) / len(both), 4)


@ClassFactory.register(ClassType.GENERAL, alias="accuracy")
def accuracy(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Are all the tools right, in whatever order? Ianvs wants this very name to judge a model between rounds."""
    both = pairs(y_true, y_pred)
    right = sum(is_accurate(graph_of(p), graph_of(g)) if g.steps else not p.steps for g, p in both)
    return round(right / len(both), 4)


@ClassFactory.register(ClassType.GENERAL, alias="cloud_share")
def cloud_share(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How many requests went to the cloud?"""
    return round(sum(bool(item[0]) for item in y_pred) / len(y_true), 4)


# ── What it cost, and what it did ─────────────────────────────────────────────────────────────────────────


def measured(name: str, y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """A measure of `hearth_bench.scoring.system_metrics`; what cannot be told is no number, and says why."""
    found = measure_system(name, y_true, y_pred)
    if isinstance(found, NotMeasured):
        print(f"{name} is not measured: {found.reason}")
        return found
    return round(found, 4)


@ClassFactory.register(ClassType.GENERAL, alias="executed")
def executed(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Does the plan, run in the owner's home, do what the right one does?"""
    return measured("executed", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="latency_p50_ms")
def latency_p50_ms(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How long does a plan take?"""
    return measured("latency_p50_ms", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="latency_p95_ms")
def latency_p95_ms(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How long does a slow one take?"""
    return measured("latency_p95_ms", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="tokens")
def tokens_used(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How many tokens do language models read and write for a request?"""
    return measured("tokens", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="cloud_calls")
def cloud_calls(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How often is a cloud model called for a request?"""
    return measured("cloud_calls", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="bytes_out")
def bytes_out(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How many bytes of a request leave the device?"""
    return measured("bytes_out", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="privacy_leak")
def privacy_leak(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """Which share of what is private in the requests stands in what leaves?"""
    return measured("privacy_leak", y_true, y_pred)


@ClassFactory.register(ClassType.GENERAL, alias="energy_j")
def energy_j(y_true: Sequence[str], y_pred: Sequence[Any]) -> float:
    """How many joules does a request take? No number where the processor's counter cannot be read."""
    return measured("energy_j", y_true, y_pred)
