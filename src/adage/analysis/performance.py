"""Tables of how well models do: accuracy, outcomes, pairs of models, the gap between languages, and the controls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adage.analysis.comparison import above_chance, language_gaps, model_pairs, paired, without_scenario
from adage.analysis.controls import Control
from adage.analysis.responses import STATUSES, Responses, by_benchmark
from adage.analysis.stats import Estimate, Floats, holm, quotient, two_sided_p
from adage.analysis.tables import ABOUT, Cell, Measure, Table, about, bounded, column, measured, table
from adage.evaluation.result import slug


def accuracy_table(runs: Sequence[Responses]) -> Table:
    """Accuracy of every run that saw the scenarios, beside chance and beside the options alone."""
    rows: list[dict[str, Cell]] = []
    for run in runs:
        if run.condition.shown != "full":
            continue
        found = run.estimate(run.item_scores)
        bare = without_scenario(run, runs)
        gain = paired(run, bare) if bare else None
        debiased = _debiased(run)
        subject = run.result.subject
        accuracy = measured(found)
        rows.append(
            {
                **about(run),
                "family": subject.family,
                "parameters": subject.parameters,
                "language": run.benchmark.language,
                "accuracy": accuracy,
                "chance": run.chance,
                "debiased": measured(debiased),
                "debiased_items": debiased.n if debiased else None,
                "above_chance": measured(found and above_chance(found, run.chance)),
                "items": found.n if found else 0,
                "groups": found.clusters if found else 0,
                "unanswered": int((~run.answered).sum()),
                "choices_only": measured(bare.estimate(bare.item_scores)) if bare else None,
                "minus_choices_only": measured(gain and _points(gain)),
                "both": gain.n if gain else None,
                "remark": _remark(run, accuracy),
            }
        )
    unsure = sum("chance" in str(row["remark"]) or row["accuracy"] is None for row in rows)
    return table(
        "accuracy",
        "Accuracy",
        "Share of right answers among the answered questions, with its 95 % interval (clustered by meaning group). "
        "Unanswered presentations count apart and are never wrong. Debiased: the option with the highest "
        "log-probability averaged over all orders. Minus choices only: points that reading the scenario adds; what is "
        f"left without it, the options give away. {_honest(unsure, len(rows))}",
        [
            *ABOUT,
            column("family", "family", "name", detail=True),
            column("parameters", "parameters (billions)", "size", detail=True),
            column("language", "language", "text", detail=True),
            column("accuracy", "accuracy", "share"),
            column("chance", "chance", "share"),
            column("debiased", "debiased", "share"),
            column("debiased_items", "questions answered in every order", "count", detail=True),
            column("above_chance", "(accuracy - chance) / (1 - chance)", "share", detail=True),
            column("items", "questions", "count"),
            column("groups", "meaning groups", "count", detail=True),
            column("unanswered", "unanswered", "count", detail=True),
            column("choices_only", "choices only", "share", detail=True),
            column("minus_choices_only", "minus choices only", "points"),
            column("both", "questions answered with and without the scenario", "count", detail=True),
            column("remark", "remark", "text"),
        ],
        rows,
    )


def outcome_table(runs: Sequence[Responses]) -> Table:
    """What became of every presentation, and accuracy over the answered ones and over all."""
    rows: list[dict[str, Cell]] = []
    for run in runs:
        counts = np.bincount(run.status, minlength=len(STATUSES))
        rows.append(
            {
                **about(run),
                "asked": int(run.asked.sum()),
                "items": int((~np.isnan(run.item_scores)).sum()),
                "presentations": len(run.item),
                **{status: int(count) for status, count in zip(STATUSES, counts, strict=True)},
                "over_answered": measured(run.estimate(run.item_scores)),
                "over_all": measured(run.estimate(_over_all(run))),
            }
        )
    return table(
        "outcomes",
        "What became of the questions",
        "Asked: presentations (a question in one phrasing and one order of its options), by outcome. Over all: an "
        "unanswered presentation counts as not right, which is what a user meets; where the two accuracies differ "
        "much, the model or the way it was asked is at fault, not its knowledge.",
        [
            *ABOUT,
            column("asked", "questions", "count"),
            column("items", "with an answer", "count", detail=True),
            column("presentations", "asked", "count"),
            *(column(status, status, "count") for status in STATUSES),
            column("over_answered", "accuracy over answered", "share"),
            column("over_all", "accuracy over all", "share"),
        ],
        rows,
    )


def pair_tables(runs: Sequence[Responses]) -> list[Table]:
    """The paired differences of every two models: one table, and so one family of tests, for each benchmark."""
    found = []
    for same in by_benchmark(runs):
        pairs = model_pairs(same) if same[0].condition.shown == "full" else []
        if not pairs:
            continue
        p = np.array([two_sided_p(pair.difference) for pair in pairs])
        adjusted = holm_known(p)
        rows: list[dict[str, Cell]] = [
            {
                "first": pair.first.model,
                "second": pair.second.model,
                "difference": measured(_points(pair.difference)),
                "items": pair.difference.n,
                "groups": pair.difference.clusters,
                "p": known(p[number]),
                "p_holm": known(adjusted[number]),
                "mcnemar_p": pair.mcnemar.exact_p if pair.mcnemar else None,
            }
            for number, pair in enumerate(pairs)
        ]
        clear = int((adjusted < 0.05).sum())
        found.append(
            table(
                f"pairs.{slug(same[0].name)}.{same[0].put}",
                f"Pairs of models on {same[0].name} ({same[0].put})",
                "First less second on the questions that both answered, in points, with its 95 % interval. p (Holm) "
                f"allows for all {len(rows)} comparisons of this table: {clear} of them are clear at 0.05. McNemar's "
                "exact p, where there is one, ignores that questions of a meaning group are alike.",
                [
                    column("first", "first", "name"),
                    column("second", "second", "name"),
                    column("difference", "difference (points)", "points"),
                    column("items", "questions", "count"),
                    column("groups", "meaning groups", "count", detail=True),
                    column("p", "p", "p"),
                    column("p_holm", "p (Holm)", "p"),
                    column("mcnemar_p", "McNemar's exact p", "p", detail=True),
                ],
                rows,
            )
        )
    return found


def gap_table(runs: Sequence[Responses]) -> Table:
    """How much better each model is in English."""
    rows: list[dict[str, Cell]] = [
        {
            **about(gap.run),
            "language": gap.run.benchmark.language,
            "reference": gap.reference.name,
            "gap": measured(gap.overall),
            "items": gap.questions,
            "reference_items": gap.reference_questions,
            "above_chance": measured(gap.above_chance),
            "matched": measured(gap.matched),
            "lessons": gap.lessons,
        }
        for gap in language_gaps([run for run in runs if run.condition.shown == "full"])
    ]
    return table(
        "gap",
        "Gap to English",
        "Accuracy in English less accuracy in the language, in points, with its 95 % interval; above 0: better in "
        "English. The benchmarks hold different proverbs, so part of a gap may be the proverbs'. Matched: only lessons "
        "that both have, each lesson a pair. Above chance: of (accuracy - chance) / (1 - chance), for benchmarks with "
        "different numbers of options. Two models at chance have no gap, which says nothing good of either.",
        [
            *ABOUT,
            column("language", "language", "text", detail=True),
            column("reference", "reference", "name"),
            column("gap", "gap (points)", "points"),
            column("items", "questions", "count"),
            column("reference_items", "questions in English", "count"),
            column("matched", "on matched lessons (points)", "points"),
            column("lessons", "matched lessons", "count"),
            column("above_chance", "above chance (points)", "points", detail=True),
        ],
        rows,
    )


def control_table(controls: Mapping[str, Iterable[Control]]) -> Table:
    """What guessers reach that cannot understand the questions, by name of the benchmark."""
    rows: list[dict[str, Cell]] = []
    for name, found in controls.items():
        for control in found:
            accuracy = bounded(control.accuracy, control.low, control.high)
            rows.append(
                {
                    "benchmark": name,
                    "guesser": control.name,
                    "space": control.space,
                    "accuracy": accuracy,
                    "chance": control.chance,
                    "items": control.n,
                    "groups": control.clusters,
                    "reading": "circular" if control.circular else _against(accuracy, control.chance),
                }
            )
    return table(
        "controls",
        "Controls",
        "Accuracy of guessers that understand nothing: all but nearest_embedding see the options alone. Above chance: "
        "the options give something away, and a model's accuracy is to be read against this number. The readings are "
        "not corrected for their number: one guesser in twenty lies outside of chance by luck. Circular: by the "
        "encoder that the options were chosen with.",
        [
            column("benchmark", "benchmark", "name"),
            column("guesser", "guesser", "text"),
            column("space", "looks at", "text"),
            column("accuracy", "accuracy", "share"),
            column("chance", "chance", "share"),
            column("items", "questions", "count"),
            column("groups", "meaning groups", "count", detail=True),
            column("reading", "reading", "text"),
        ],
        rows,
    )


def holm_known(p: Floats) -> Floats:
    """Holm's adjustment of the p-values that are there; NaN stays NaN."""
    adjusted = np.full(len(p), np.nan)
    have = ~np.isnan(p)
    adjusted[have] = holm(p[have])
    return adjusted


def known(value: float) -> float | None:
    """A number as a cell: None for NaN."""
    return None if np.isnan(value) else float(value)


def _points(estimate: Estimate) -> Estimate:
    mean, se, low, high = (100 * value for value in estimate[:4])
    return Estimate(mean, se, low, high, estimate.n, estimate.clusters)


def _debiased(run: Responses) -> Estimate | None:
    ordered = run.condition.method == "letter"
    return run.estimate(run.debiased_scores) if ordered else None


def _over_all(run: Responses) -> Floats:
    shown = np.bincount(run.item, minlength=len(run.size))
    right = np.bincount(run.item, run.right, minlength=len(run.size))
    return quotient(right, shown)


def _remark(run: Responses, accuracy: Measure | None) -> str:
    against = _against(accuracy, run.chance)
    remarks = [] if against == "above chance" else [against]
    if unanswered := int((~run.answered).sum()):
        remarks.append(f"{unanswered} unanswered")
    if run.result.subject.judge:
        remarks.append("judged this benchmark")
    if run.result.subject.thinking:
        remarks.append("thinks")
    return ", ".join(remarks)


def _against(accuracy: Measure | None, chance: float) -> str:
    """What an interval says of chance."""
    if accuracy is None or accuracy.value is None:
        return "no answer"
    if accuracy.low is None:
        return "one meaning group: chance not excluded"
    if accuracy.holds(chance):
        return "within chance"
    return "above chance" if accuracy.value > chance else "below chance"


def _honest(unsure: int, runs: int) -> str:
    if not unsure:
        return "Every interval here excludes chance." if runs else ""
    return (
        f"{unsure} of {runs} runs are not told from guessing (their intervals include chance, lie below it, or are not "
        "known): differences among them mean nothing."
    )
