"""Train tier two in the suites, for a student to adopt or to continue round by round.

Training needs torch; without it `learning.finetune.second_tier` raises MissingExtraError with the command that
installs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from hearth.cli.invocation import SILENT, Progress
from hearth.learning.finetune.lessons import AdapterOptions, Epoch, Task, Trained
from hearth.learning.finetune.second_tier import train_pointer
from hearth.models.pointer import Pointer
from hearth.protocols import Encoder, Proposal
from hearth.types import Demonstration, ToolSpec
from hearth_bench.metrics.plan_metrics import Link, PlanGraph

ROUND_OPTIONS = AdapterOptions(n_epochs=3, n_epochs_more=0, held_share=0.0, made_share=0.0, batch=16)
"""Options for streams: minutes for ten rounds, and nothing made up, so that forgetting shows fully."""

_READ_CHARACTERS = 1_000
"""Characters of a request that are read; more are hardly read (256 tokens)."""
_BUDGET_CHARACTERS = 9_000_000
"""Characters to be read in training: six epochs over some 3,000 requests of a few sentences, minutes on one core."""
_LEAST_EPOCHS = 2


def adapter_options_for(demonstrations: Sequence[Demonstration]) -> AdapterOptions:
    """Return the usual options, with fewer epochs for large data and nothing made up where plans are single calls."""
    usual = AdapterOptions()
    lengths = [len(d.plan.steps) for d in demonstrations]
    made_share = usual.made_share if sum(lengths) > 1.05 * len(lengths) else 0.0
    n_characters = sum(min(len(d.request), _READ_CHARACTERS) for d in demonstrations) * (1 + made_share)
    n_epochs = int(_BUDGET_CHARACTERS / max(n_characters, 1)) - usual.n_epochs_more
    return replace(usual, made_share=made_share, n_epochs=max(_LEAST_EPOCHS, min(usual.n_epochs, n_epochs)))


class Offering:
    """A proposer whose tools can be changed; satisfies `protocols.Proposer`."""

    def __init__(
        self, folder: Path, tools: Mapping[str, ToolSpec], encoder: Encoder, graph: frozenset[Link] | None
    ) -> None:
        self._folder, self._encoder, self._graph = folder, encoder, graph
        self.offer(tools)
        self.fingerprint = self._pointer.fingerprint

    def offer(self, tools: Mapping[str, ToolSpec]) -> None:
        """Propose plans of these tools from now on."""
        self._pointer = Pointer.open(self._folder, tools, graph=self._graph, encoder=self._encoder)

    def propose(self, texts: Sequence[str]) -> list[Proposal]:
        return self._pointer.propose(texts)


@dataclass(frozen=True, slots=True)
class TierTwo:
    """A trained proposer with its proposals for held-back demonstrations."""

    proposer: Offering
    held: Mapping[str, Proposal]
    record: Mapping[str, object]
    n_bytes: int
    """Size on disk."""


def train_tier_two(task: Task, progress: Progress = SILENT) -> TierTwo:
    """Train into the task's folder, which must not exist.

    Raises:
        MissingExtraError: torch is not installed. RequestError: There are too few demonstrations.
    """
    trained = _train(task, progress)
    n_bytes = sum(path.stat().st_size for path in task.folder.iterdir())
    return TierTwo(Offering(task.folder, task.tools, task.encoder, task.graph), trained.held, trained.record, n_bytes)


class RoundTrainer:
    """Continues a trained model round by round, as `continual_suite.TrainedLearner` needs."""

    def __init__(self, tools: Mapping[str, ToolSpec], encoder: Encoder, seed: int) -> None:
        self._tools, self._encoder, self._seed = tools, encoder, seed

    def train(
        self, demonstrations: Sequence[Demonstration], folder: Path, start_from: Path | None
    ) -> Callable[[Sequence[Demonstration]], list[PlanGraph]]:
        _train(Task(demonstrations, self._tools, self._encoder, folder, ROUND_OPTIONS, self._seed, start_from), SILENT)
        pointer = Pointer.open(folder, self._tools, encoder=self._encoder)
        return lambda asked: [_first(proposal) for proposal in pointer.propose([d.request for d in asked])]


def _first(proposal: Proposal) -> PlanGraph:
    nodes = proposal.sequences[0][0] if proposal.sequences else ()
    return PlanGraph(nodes, tuple(pairwise(nodes)))


def _train(task: Task, progress: Progress) -> Trained:
    made: Trained | None = None
    with progress.stage("Training tier two", task.options.n_epochs + task.options.n_epochs_more) as advance:
        for step in train_pointer(task):
            if isinstance(step, Epoch):
                advance(1)
            else:
                made = step
    assert made is not None
    return made
