"""Tables of the errors by role of the option: attraction, conditional logit, and the capability gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import special

from adage.analysis.attraction import attractions, options_by_role, wrong_choices
from adage.analysis.choice import conditional_logit
from adage.analysis.gradient import capabilities, gradients, slopes
from adage.analysis.performance import holm_known, known
from adage.analysis.responses import WRONG_ROLES, Responses, by_benchmark
from adage.analysis.stats import attraction
from adage.analysis.tables import ABOUT, Cell, Column, Table, about, bounded, column, table

_NORMAL = float(special.ndtri(0.975))


def attraction_table(runs: Sequence[Responses], *, draws: int = 10_000) -> Table:
    """How strongly each role of wrong options draws each model's errors."""
    rows: list[dict[str, Cell]] = []
    for same in _with_roles(runs, bare=True):
        found = attractions(same, draws=draws)
        for number, run in enumerate(same):
            total = float(found.errors[number].sum())
            if total == 0:
                continue
            offered = found.expected[number] > 0
            test = attraction(found.errors[number][offered], found.expected[number][offered])
            row = {**about(run), "errors": total, "chi2": test.chi2, "p": test.p}
            for role, name in enumerate(WRONG_ROLES):
                row[name] = bounded(found.ratios[number, role], found.low[number, role], found.high[number, role])
                row[f"share_{name}"] = float(found.errors[number, role] / total)
            rows.append(row)
    for row, p in zip(rows, holm_known(np.array([row["p"] for row in rows], dtype=np.float64)), strict=True):
        row["p_holm"] = known(p)
    return table(
        "attraction",
        "Attraction of the wrong options",
        "Errors on a role / errors that would fall on it if errors fell evenly: 1 draws nothing in particular, 2 twice "
        "its share. 95 % interval from 10,000 bootstrap draws of whole meaning groups. A model that guesses has ratios "
        "near 1 in every role; what draws it without the scenario too (choices_only) is the look of the "
        "options. χ² takes every error as independent; p (Holm) allows for all rows.",
        [
            *ABOUT,
            column("errors", "errors", "count"),
            *(column(name, _said(name), "ratio") for name in WRONG_ROLES),
            *(column(f"share_{name}", f"share of {_said(name)}", "share", detail=True) for name in WRONG_ROLES),
            column("chi2", "χ²", "number", detail=True),
            column("p", "p", "p", detail=True),
            column("p_holm", "p (Holm)", "p"),
        ],
        rows,
    )


def logit_table(runs: Sequence[Responses]) -> Table:
    """A conditional logit over the wrong options, all models of a benchmark together."""
    capability = capabilities(runs)
    rows: list[dict[str, Cell]] = []
    for same in _with_roles(runs):
        able = capability.get((same[0].result.benchmark, same[0].condition.slug), {})
        choices = wrong_choices(same, able)
        if choices is None or not choices.terms:
            continue
        found = conditional_logit(choices.x, choices.offered, choices.chosen, choices.weight, choices.cluster)
        for number, term in enumerate(choices.terms):
            beta, se = float(found.beta[number]), float(found.clustered_se[number])
            rows.append(
                {
                    "benchmark": same[0].name,
                    "condition": same[0].put,
                    "term": term,
                    "beta": bounded(beta, beta - _NORMAL * se, beta + _NORMAL * se),
                    "odds": float(np.exp(beta)) if np.isfinite(beta) else None,
                    "se": known(se),
                    "independent_se": known(float(found.se[number])),
                    "errors": float(choices.weight.sum()),
                }
            )
    return table(
        "logit",
        "What draws errors, all else equal",
        "Conditional logit over the wrong options of every error, all models of a benchmark together. β of a role: "
        "against random, log odds. × capability: per ten points of accuracy in other languages. cos_scenario and "
        "length: per standard deviation. place: last against first. Standard errors by meaning group; the bootstrap "
        "of the attraction table comes first where they differ. An empty row: the term alone "
        "settles the choices and was left out.",
        [
            column("benchmark", "benchmark", "name"),
            column("condition", "condition", "text"),
            column("term", "term", "text"),
            column("beta", "β", "number"),
            column("odds", "odds ratio", "ratio"),
            column("se", "SE by meaning group", "number", detail=True),
            column("independent_se", "SE if independent", "number", detail=True),
            column("errors", "errors", "count"),
        ],
        rows,
    )


def gradient_table(runs: Sequence[Responses], *, draws: int = 10_000) -> Table:
    """Shares of the roles among errors and among misreadings, beside the model's capability."""
    capability = capabilities(runs)
    rows: list[dict[str, Cell]] = []
    for same in _with_roles(runs):
        able = capability.get((same[0].result.benchmark, same[0].condition.slug), {})
        found = gradients(same, able, draws=draws)
        for number, run in enumerate(same):
            if np.isnan(found.raw[number]).all():
                continue
            options = options_by_role(run)[run.asked].sum(axis=0)
            row: dict[str, Cell] = {
                **about(run),
                "capability": known(found.capability[number]),
                "errors": float(found.errors[number]),
                "misreadings": known(found.misreadings[number]),
                "guessed": known(found.guessed[number]),
                "misread": known(found.misread[number]),
                "even_near_match": float(options[WRONG_ROLES.index("near_match")] / options.sum()),
            }
            for role, name in enumerate(WRONG_ROLES):
                row[f"raw_{name}"] = float(found.raw[number, role])
                row[f"pi_{name}"] = bounded(found.pi[number, role], found.low[number, role], found.high[number, role])
            rows.append(row)
    return table(
        "gradient",
        "Capability gradient",
        "Raw: share of a role among the errors, which rises for the most attractive role merely because abler models "
        "guess less. π̂: its share among misreadings (the same wrong option in every order), less what guessing leaves; "
        "95 % bootstrap interval. An interval alone: the questions were shown in one order, from which π cannot be "
        "told; it holds whatever some guessing rate admits, sampling error apart. Capability: accuracy in other "
        "languages. A guesser with a taste for certain texts passes for a misreader: see choices_only in "
        "the table of attraction.",
        [
            *ABOUT,
            column("capability", "capability", "share"),
            *_role_columns("raw", "raw"),
            *_role_columns("pi", "π̂"),
            column("even_near_match", "near match if even", "share", detail=True),
            column("errors", "errors", "count"),
            column("misreadings", "misreadings", "count"),
            column("guessed", "guessed at", "share", detail=True),
            column("misread", "misread", "share", detail=True),
        ],
        rows,
    )


def trend_table(runs: Sequence[Responses], *, draws: int = 10_000) -> Table:
    """Whether the share of a role moves with capability, raw and corrected."""
    capability = capabilities(runs)
    rows: list[dict[str, Cell]] = []
    for same in _with_roles(runs):
        able = capability.get((same[0].result.benchmark, same[0].condition.slug), {})
        for kind, found in slopes(same, able, draws=draws).items():
            for role, slope in zip(WRONG_ROLES, found, strict=True):
                rows.append(
                    {
                        "benchmark": same[0].name,
                        "condition": same[0].put,
                        "models": sum(run.model in able for run in same),
                        "role": _said(role),
                        "share": "raw" if kind == "raw" else "π̂",
                        "errors": slope.n,
                        "slope": bounded(10 * slope.slope, 10 * slope.low, 10 * slope.high),
                        "z": slope.trend.z if slope.trend else None,
                        "p": slope.trend.p if slope.trend else None,
                    }
                )
    p = np.array([np.nan if row["p"] is None else row["p"] for row in rows], dtype=np.float64)
    for row, adjusted in zip(rows, holm_known(p), strict=True):
        row["p_holm"] = known(adjusted)
    return table(
        "trend",
        "Trend of the shares with capability",
        "Slope: points of share for every ten points of accuracy in other languages, with its 95 % interval from the "
        "bootstrap of meaning groups, for these models. Where the raw slope excludes 0 and that of π̂ does not, falling "
        "guesswork explains it. Errors: for π̂, the misreadings less what guessing leaves. z and p: Cochran-Armitage, "
        "which takes every error as independent; p (Holm) allows for all rows.",
        [
            column("benchmark", "benchmark", "name"),
            column("condition", "condition", "text"),
            column("models", "models", "count"),
            column("role", "role", "text"),
            column("share", "share", "text"),
            column("errors", "errors", "count"),
            column("slope", "slope (points)", "points"),
            column("z", "z", "number"),
            column("p", "p", "p", detail=True),
            column("p_holm", "p (Holm)", "p"),
        ],
        rows,
    )


def _with_roles(runs: Sequence[Responses], *, bare: bool = False) -> list[list[Responses]]:
    """Runs on benchmarks with roles, together; `bare`: those that saw the options alone as well."""
    return [same for same in by_benchmark(runs) if same[0].has_roles and (bare or same[0].condition.shown == "full")]


def _role_columns(key: str, title: str) -> list[Column]:
    """A column for each role; on the terminal, the near match alone."""
    return [
        column(f"{key}_{name}", f"{title} {_said(name)}", "share", detail=name != "near_match") for name in WRONG_ROLES
    ]


def _said(role: str) -> str:
    return role.replace("_", " ")
