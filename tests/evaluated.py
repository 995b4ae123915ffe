"""Evaluations of simulated models, whose guessing and misreading are known, for tests that analyse some."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from adage.evaluation.result import Answer, Benchmark, Condition, Evaluated, Question, Result, Subject

ROLES = ("gold", "same_cluster", "near_match", "random")
Guesser = Literal["uniform", "position", "prior"]


def benchmark(
    language: str = "en", n: int = 200, *, per_group: int = 4, seed: int = 0, roles: bool = True, **fields: Any
) -> Benchmark:
    """Questions with four options; the gold's place is drawn, and the lesson of a group is marked."""
    draw = np.random.default_rng(seed)
    questions = []
    for number in range(n):
        order = draw.permutation(4)
        names = tuple(f"p{number}-{part}" for part in order)
        questions.append(
            Question(
                id=f"i{number:04}",
                scenario=f"Story {number}",
                options=tuple(f"Proverb {number} {'x' * int(draw.integers(1, 20))} {part}" for part in order),
                gold=(int(np.flatnonzero(order == 0)[0]),),
                group=f"g{number // per_group}",
                names=names if roles else (),
                roles=tuple(ROLES[part] for part in order) if roles else (),
                clusters=tuple(int(part) for part in order) if roles else (),
                cos_scenario=tuple(float(x) for x in draw.uniform(0.7, 0.9, 4)) if roles else (),
                equivalent=f"lesson-{number // per_group}",
            )
        )
    fields = {"name": f"CAPR-{language}", "assembly": "balanced" if roles else "", **fields}
    return Benchmark(language=language, questions=tuple(questions), **fields)


@dataclass(frozen=True)
class Mind:
    """A simulated model: it misreads a share of the questions, guesses at another, and understands the rest."""

    guesses: float = 0.3
    misreads: float = 0.2
    pi: tuple[float, float, float] = (0.2, 0.7, 0.1)
    """Of a misreading, by role: same cluster, near match, random."""
    guesser: Guesser = "uniform"
    prior: tuple[float, float, float, float] = (0.1, 0.1, 0.1, 0.7)
    """Where `guesser` is `prior`: how often its favourite text is the gold, or has each role."""
    unanswered: dict[str, float] = field(default_factory=dict)
    """Status → share of presentations."""


def evaluate(
    asked: Benchmark,
    mind: Mind,
    *,
    name: str = "model",
    family: str = "",
    parameters: float | None = None,
    method: Any = "letter",
    shown: Any = "full",
    rotations: int = 4,
    phrasings: int = 1,
    limit: int | None = None,
    seed: int = 1,
) -> Evaluated:
    """What the mind answers; with one rotation, the order of each question is drawn."""
    draw = np.random.default_rng(seed)
    answers = []
    for question in asked.questions[:limit]:
        role_at = {ROLES.index(role): place for place, role in enumerate(question.roles)} or dict(enumerate(range(4)))
        gold = question.gold[0]
        state = draw.choice(3, p=[mind.guesses, mind.misreads, max(0.0, 1 - mind.guesses - mind.misreads)])
        fixed = {0: role_at[int(draw.choice(4, p=mind.prior))], 1: role_at[1 + int(draw.choice(3, p=mind.pi))], 2: gold}
        for phrasing in range(phrasings):
            orders = range(rotations) if rotations > 1 else [int(draw.integers(4))]
            for rotation in orders if method in {"letter", "generate"} else [0]:
                choice = fixed[int(state)]
                if state == 0 and mind.guesser == "uniform":
                    choice = int(draw.integers(4))
                elif state == 0 and mind.guesser == "position":
                    choice = rotation % 4  # what is shown first
                answers.append(
                    _answer(
                        (question.id, phrasing, rotation), choice, sure=state != 0, mind=mind, method=method, draw=draw
                    )
                )
    statuses = {status: sum(answer.status == status for answer in answers) for status in {a.status for a in answers}}
    result = Result(
        subject=Subject(name=name, identity=f"id-{name}", family=family, parameters=parameters),
        benchmark=asked.slug,
        condition=Condition(method=method, shown=shown),
        asked=len(asked.questions[:limit]),
        phrasings=tuple(f"Wording {number}" for number in range(phrasings)),
        rotations=rotations,
        statuses=statuses,
    )
    return Evaluated(result, asked, tuple(answers))


def _answer(
    place: tuple[str, int, int], choice: int, *, sure: bool, mind: Mind, method: str, draw: np.random.Generator
) -> Answer:
    item, phrasing, rotation = place
    at = draw.random()
    for status, share in mind.unanswered.items():
        if at < share:
            return Answer(item=item, phrasing=phrasing, rotation=rotation, status=status, error="?")
        at -= share
    scores: tuple[float, ...] = ()
    if method != "generate":
        p = np.full(4, 0.08 if sure else 0.2)
        p[choice] = 1 - p.sum() + p[choice]
        scores = tuple(float(x) for x in np.log(p))
    return Answer(item=item, phrasing=phrasing, rotation=rotation, status="answered", choice=choice, scores=scores)


def roster(languages: tuple[str, ...] = ("en", "ja"), *, n: int = 120) -> list[Evaluated]:
    """Nine models in three families on one benchmark a language, and the options alone for the smallest of each."""
    found = []
    for place, language in enumerate(languages):
        asked = benchmark(language, n, seed=place)
        for number, family in enumerate(("Alpha", "Beta", "Gamma")):
            for step, parameters in enumerate((0.3, 3.0, 30.0)):
                able = 0.2 + 0.25 * step + 0.03 * number - 0.1 * place
                mind = Mind(
                    guesses=max(0.0, 0.78 - able), misreads=0.2, guesser=("uniform", "position", "prior")[number]
                )
                common = {"name": f"{family} {parameters}B", "family": family, "parameters": parameters}
                seed = 100 * place + 10 * number + step
                found.append(evaluate(asked, mind, seed=seed, phrasings=1 + (step == 0), **common))
                if step == 0:
                    bare = Mind(guesses=1.0, misreads=0.0, guesser=mind.guesser)
                    found.append(evaluate(asked, bare, seed=seed + 5000, shown="choices_only", **common))
    return found
