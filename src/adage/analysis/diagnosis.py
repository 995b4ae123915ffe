"""Tables of what else moves the answers: places, phrasings, single questions, and confidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adage.analysis.calibration import calibration
from adage.analysis.performance import holm_known, known
from adage.analysis.responses import WRONG_ROLES, Responses, by_benchmark
from adage.analysis.stats import Bools, Floats, Ints, even_shares, item_rest_correlation, quotient
from adage.analysis.tables import ABOUT, Cell, Table, about, column, measured, table

FEWEST_MODELS = 3
"""Models that an item-rest correlation is computed of at least."""


def position_table(runs: Sequence[Responses]) -> Table:
    """Which places are chosen, and how accuracy depends on the place of the right option."""
    rows: list[dict[str, Cell]] = []
    tests: list[float] = []
    sizes: list[int] = []
    for run in runs:
        if not run.ordered or not run.answered.any() or run.condition.shown != "full":
            continue
        size = int(np.bincount(run.size[run.asked]).argmax())
        fits = (run.size == size) & ~np.isnan(run.item_scores)
        if not fits.any():
            continue
        chosen = np.stack([run.average(run.place == place) for place in range(size)], axis=1)
        test = even_shares(chosen[fits], run.group[fits])
        gold_place = (run.gold.argmax(axis=1)[run.item] - run.rotation) % run.size[run.item]
        single = (run.gold.sum(axis=1) == 1)[run.item]
        for place in range(size):
            there = run.average(run.right, single & (gold_place == place) & fits[run.item])
            rows.append(
                {
                    **about(run),
                    "place": place + 1,
                    "chosen": measured(run.estimate(np.where(fits, chosen[:, place], np.nan))),
                    "even": 1 / size,
                    "accuracy": measured(run.estimate(there)),
                    "items": int(fits.sum()),
                    "p": known(test.p),
                }
            )
        tests.append(test.p)
        sizes.append(size)
    for row, adjusted in zip(rows, np.repeat(holm_known(np.array(tests)), sizes), strict=True):
        row["p_holm"] = known(adjusted)
    return table(
        "position",
        "Position bias",
        "Share of the answers that chose each place, and accuracy when the right option stood there. Without a "
        "preference every place is chosen equally often. p: Friedman's test over meaning groups, one test a run; p "
        "(Holm) allows for all runs. A model that always picks one place shows 1 there, and its accuracy there is 1 as "
        "well: that is not knowledge. Questions with another number of options than most are left out.",
        [
            *ABOUT,
            column("place", "place", "count"),
            column("chosen", "chosen", "share"),
            column("even", "if even", "share"),
            column("accuracy", "accuracy when right there", "share"),
            column("items", "questions", "count"),
            column("p", "p", "p", detail=True),
            column("p_holm", "p (Holm)", "p"),
        ],
        rows,
    )


def spread_table(runs: Sequence[Responses]) -> Table:
    """How far accuracy moves with the wording of the prompt and the order of the options."""
    rows: list[dict[str, Cell]] = []
    for run in runs:
        if run.condition.shown != "full":
            continue
        by_phrasing = _accuracies(run, run.phrasing)
        by_rotation = _accuracies(run, run.rotation) if run.result.rotations > 1 else []
        if max(len(by_phrasing), len(by_rotation)) < 2:
            continue
        row: dict[str, Cell] = {**about(run), "phrasings": len(by_phrasing), "rotations": max(1, len(by_rotation))}
        for name, found in (("phrasing", by_phrasing), ("rotation", by_rotation)):
            if len(found) > 1:
                low, high = min(found), max(found)
                row |= {f"{name}_low": low, f"{name}_high": high, f"{name}_range": 100 * (high - low)}
        units = run.units
        if len(units.item):
            steady = np.bincount(units.item, units.choice >= 0, minlength=len(run.size))
            count = np.bincount(units.item, minlength=len(run.size))
            row |= {"steady": measured(run.estimate(quotient(steady, count))), "items": int((count > 0).sum())}
        rows.append(row)
    return table(
        "spread",
        "Spread over phrasings and orders",
        "Lowest and highest accuracy over the wordings of the prompt and over the orders of the options, and their "
        "range in points. One order of all questions holds right options at every place: a taste for a place shows "
        "in the table of positions, not in this range. Steady: share of questions whose choice is the same in every "
        "order. A difference between models that is smaller than these ranges depends on how they were asked.",
        [
            *ABOUT,
            column("phrasings", "phrasings", "count"),
            column("phrasing_low", "lowest by phrasing", "share"),
            column("phrasing_high", "highest by phrasing", "share"),
            column("phrasing_range", "range by phrasing (points)", "points"),
            column("rotations", "orders", "count"),
            column("rotation_low", "lowest by order", "share"),
            column("rotation_high", "highest by order", "share"),
            column("rotation_range", "range by order (points)", "points"),
            column("steady", "steady", "share"),
            column("items", "questions answered in every order", "count", detail=True),
        ],
        rows,
    )


class _Items(NamedTuple):
    """What several models made of the questions of one benchmark; arrays over questions."""

    runs: list[Responses]
    answered: Bools
    """Which questions some model answered."""
    difficulty: Floats
    """Mean score."""
    correlation: Floats
    """Item-rest correlation, NaN below `FEWEST_MODELS`."""
    chosen: Floats
    """Share of the answers on each option, shape (questions, widest)."""
    chosen_ably: Floats
    """The same among the abler half of the models."""


def difficulty_table(runs: Sequence[Responses]) -> Table:
    """How hard the questions of each benchmark are, and which roles are chosen."""
    rows: list[dict[str, Cell]] = []
    for items in _items(runs):
        run, solved = items.runs[0], items.difficulty[items.answered]
        row: dict[str, Cell] = {
            "benchmark": run.name,
            "condition": run.put,
            "models": len(items.runs),
            "items": len(solved),
            "mean": float(solved.mean()),
            "lower": float(np.quantile(solved, 0.25)),
            "upper": float(np.quantile(solved, 0.75)),
            "never": int((solved == 0).sum()),
            "always": int((solved == 1).sum()),
        }
        if len(items.runs) >= FEWEST_MODELS:
            row["negative"] = int((items.correlation[items.answered] < 0).sum())
        if run.has_roles:
            for role, name in enumerate(WRONG_ROLES):
                row[name] = float((items.chosen * (run.role == role))[items.answered].sum(axis=1).mean())
        rows.append(row)
    return table(
        "difficulty",
        "Difficulty of the questions",
        "Mean accuracy of a question over the models, with its quartiles; questions that no model, or every model, "
        "always solves tell models apart in nothing. Chosen: share of all answers on each role of the wrong options; "
        "with the mean they add up to 1.",
        [
            column("benchmark", "benchmark", "name"),
            column("condition", "condition", "text"),
            column("models", "models", "count"),
            column("items", "questions", "count"),
            column("mean", "mean", "share"),
            column("lower", "lower quartile", "share"),
            column("upper", "upper quartile", "share"),
            column("never", "never solved", "count"),
            column("always", "always solved", "count"),
            column("negative", "r below 0", "count"),
            column("same_cluster", "chosen: same cluster", "share"),
            column("near_match", "chosen: near match", "share"),
            column("random", "chosen: random", "share"),
        ],
        rows,
    )


def item_table(runs: Sequence[Responses]) -> Table:
    """Every question, those that a person should look at first."""
    rows: list[dict[str, Cell]] = []
    for items in _items(runs):
        run, enough = items.runs[0], len(items.runs) >= FEWEST_MODELS
        rival = np.where(run.gold, -1.0, items.chosen).argmax(axis=1)
        ably = np.where(run.gold, -1.0, items.chosen_ably).max(axis=1)
        beaten = ably > np.where(run.gold, items.chosen_ably, 0).sum(axis=1)
        for index in np.flatnonzero(items.answered):
            flags = [
                *(["r below 0"] if items.correlation[index] < 0 else []),
                *(["fools the able"] if beaten[index] and enough else []),
            ]
            question, option = run.questions[index], int(rival[index])
            row: dict[str, Cell] = {
                "benchmark": run.name,
                "condition": run.put,
                "item": question.id,
                "models": len(items.runs),
                "difficulty": float(items.difficulty[index]),
                "correlation": known(items.correlation[index]),
                "rival_share": float(items.chosen[index, option]),
                "flag": ", ".join(flags),
            }
            if items.chosen[index, option]:
                row["rival"] = question.names[option] if question.names else f"option {option + 1}"
                row["rival_role"] = question.roles[option].replace("_", " ") if question.roles else ""
            rows.append(row)
    rows.sort(key=lambda row: row["flag"] == "")
    return table(
        "items",
        "Questions",
        f"Flagged ones first ({sum(row['flag'] != '' for row in rows)} of {len(rows)}). r below 0: models solve it the "
        "less, the better they are elsewhere (item-rest correlation, from three models on). Fools the able: the abler "
        "half choose one wrong option more often than the right one. The key may be wrong, or two options fit. With "
        "few models, or models near chance, most flags are noise; a flag asks for a look and is no verdict.",
        [
            column("benchmark", "benchmark", "name"),
            column("condition", "condition", "text"),
            column("item", "question", "name"),
            column("models", "models", "count", detail=True),
            column("difficulty", "mean accuracy", "share"),
            column("correlation", "r", "number"),
            column("rival", "most chosen wrong option", "name"),
            column("rival_role", "its role", "text"),
            column("rival_share", "chosen", "share"),
            column("flag", "flag", "text"),
        ],
        rows,
    )


def calibration_tables(runs: Sequence[Responses]) -> list[Table]:
    """Calibration of the letter probabilities, and the bins that its diagram shows."""
    rows: list[dict[str, Cell]] = []
    bins: list[dict[str, Cell]] = []
    for run in runs:
        found = calibration(run) if run.condition.shown == "full" else None
        if found is None:
            continue
        rows.append(
            {
                **about(run),
                "ece": found.ece,
                "brier": found.brier,
                "confidence": found.confidence,
                "accuracy": found.accuracy,
                "over": 100 * (found.confidence - found.accuracy),
                "items": found.n,
            }
        )
        bins += [
            {**about(run), "bin": number, "confidence": part.confidence, "accuracy": part.accuracy, "items": part.n}
            for number, part in enumerate(found.bins, 1)
        ]
    numbers = (column("confidence", "confidence", "share"), column("accuracy", "accuracy", "share"))
    items = column("items", "questions", "count")
    return [
        table(
            "calibration",
            "Calibration",
            "Probabilities of the letters, averaged over all orders. Expected calibration error: mean distance of "
            "confidence and accuracy over bins of about equal size; small samples alone make it a few hundredths. "
            "Brier: 0 perfect, 0.75 for even odds on four options. Overconfidence: confidence less accuracy, which is "
            "here that of the option with the highest averaged probability.",
            [
                *ABOUT,
                column("ece", "ECE", "share"),
                column("brier", "Brier", "share"),
                *numbers,
                column("over", "overconfidence (points)", "points"),
                items,
            ],
            rows,
        ),
        table(
            "reliability",
            "Reliability by confidence",
            "Questions in order of confidence, in bins of about equal size: accuracy equals confidence where "
            "probabilities mean what they say.",
            [*ABOUT, column("bin", "bin", "count"), *numbers, items],
            bins,
        ),
    ]


def _accuracies(run: Responses, by: Ints) -> list[float]:
    """Accuracy at each value of `by` that has answers."""
    found = (run.estimate(run.average(run.right, by == value)) for value in np.unique(by))
    return [estimate.mean for estimate in found if estimate is not None]


def _items(runs: Sequence[Responses]) -> list[_Items]:
    found = []
    for same in by_benchmark(runs):
        able = [run for run in same if run.answered.any()]
        if not able or able[0].condition.shown != "full":
            continue
        scores = np.stack([run.item_scores for run in able])
        have = ~np.isnan(scores)
        count = have.sum(axis=0)
        enough = len(able) >= FEWEST_MODELS
        # Rounded, as what rounding leaves of 0 may be negative, and negative ones are flagged.
        correlation = np.round(item_rest_correlation(scores), 9) if enough else np.full(scores.shape[1], np.nan)
        difficulty = np.where(have, scores, 0).sum(axis=0) / np.maximum(count, 1)
        means = np.nanmean(scores, axis=1)
        abler = [run for run, mean in zip(able, means, strict=True) if mean >= np.median(means)]
        found.append(_Items(able, count > 0, difficulty, correlation, _chosen(able), _chosen(abler)))
    return found


def _chosen(runs: Sequence[Responses]) -> Floats:
    """Share of each option among the answers to its question, each run with the same weight, (questions, widest)."""
    chosen = np.zeros(runs[0].gold.shape)
    for run in runs:
        np.add.at(chosen, (run.item[run.answered], run.choice[run.answered]), run.weight[run.answered])
    share: Floats = chosen / np.maximum(chosen.sum(axis=1, keepdims=True), 1e-12)
    return share
