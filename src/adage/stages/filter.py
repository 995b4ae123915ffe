"""Stage 4: cheap checks on every scenario, each with its score: language, length, keyword, embedding.

Nothing here calls a chat model. Annotators' verdicts enter here too: a rejected scenario is dropped, an edited one
becomes a new scenario and is checked like any other.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from adage.language import Language
from adage.models.base import Embedder
from adage.recipe import Filter as FilterRecipe
from adage.records import Check, Record, Scenario, scenario_id, seal
from adage.stage import Dropped, Kept, Outcome, Stage
from adage.stages.hand import ScenarioVerdict, rejected, unmatched_remark
from adage.text.leakage import leak, unit_leak
from adage.text.scripts import script_share
from adage.text.segment import length, sentences
from adage.text.similarity import rouge_l
from adage.text.unicode import show

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
_DIGITS = 4
_SAMPLE = 200_000
"""Unrelated pairs drawn for a percentile where there are more."""


class Slim(Record, frozen=True, kw_only=True):
    """The columns of a scenario that calibration and sibling checks need."""

    id: str
    proverb_id: str
    proverb: str
    explanation: str = ""
    group: str
    text: str


class Calibration(Record, frozen=True, kw_only=True):
    """Cosines above which a pair is suspicious, from this corpus and encoder; kept once made."""

    encoder: str
    percentile: float
    leak: float
    """Percentile of cos(scenario, proverb text) over pairs of different meaning groups."""
    leak_pairs: int
    sibling: float
    """Percentile of cos(scenario, scenario) over pairs of different meaning groups."""
    sibling_pairs: int
    scenarios: int
    """Scenarios that it rests on."""


class Facts(Record, frozen=True, kw_only=True):
    """What only a look at the other rows can tell of a scenario."""

    cos_proverb: float
    """Cosine with the own proverb's text."""
    cos_own: float
    """Cosine with the own explanation."""
    cos_other: float
    """Highest cosine with another meaning group's explanation."""
    other: str = ""
    """Id of the proverb whose explanation that is."""
    twin: str = ""
    """Id of an earlier sibling that this one repeats."""
    twin_score: float = 0.0
    twin_by: str = ""
    """`rouge` or `cosine`."""


class FilterContext(Record, frozen=True, kw_only=True):
    """Calibration, and the facts of each scenario by the id that it came with (before an edit)."""

    calibration: Calibration | None
    facts: dict[str, Facts]
    unmatched: tuple[str, ...] = ()
    """Verdicts on scenarios that are not here."""


class Filter(Stage[Scenario, Slim, FilterContext, Scenario]):
    """Drops scenarios that give the proverb away, are malformed, or repeat a sibling."""

    name = "filter"
    number = "4"
    version = 1
    row = Scenario
    slim = Slim
    context = FilterContext
    out = Scenario

    def __init__(
        self,
        options: FilterRecipe,
        *,
        language: Language,
        words: Sequence[str],
        encoder: Embedder,
        agrees: Callable[[str], bool | None],
        identifier: str = "",
        verdicts: Mapping[str, Sequence[ScenarioVerdict]],
        seed: int,
        recalibrate: bool = False,
    ) -> None:
        self._options, self._language, self._words = options, language, tuple(words)
        self._encoder, self._agrees, self._identifier = encoder, agrees, identifier
        self._verdicts = verdicts
        self._seed, self._recalibrate = seed, recalibrate
        bounds = language.length
        self._length = (_or(options.min_length, bounds.min), _or(options.max_length, bounds.max))
        self._sentences = (
            _or(options.min_sentences, bounds.min_sentences),
            _or(options.max_sentences, bounds.max_sentences),
        )

    def settings(self) -> object:
        """Thresholds, language pack, encoder and verdicts."""
        return {
            "options": self._options.model_dump(mode="json"),
            "language": self._language,
            "words": self._words,
            "encoder": self._encoder.id,
            "identifier": self._identifier,
            "verdicts": self._verdicts,
            "seed": self._seed,
        }

    async def prepare(self, rows: Iterable[Slim], previous: FilterContext | None) -> FilterContext:
        """Embed everything, calibrate (unless an earlier calibration stands), and compare siblings."""
        everything = list(rows)
        here = {name for row in everything for name in (row.id, self._edited(row).id)}
        missing = tuple(name for name in self._verdicts if name not in here)
        staying = [row for row in everything if not rejected(self._verdicts_on(row))]
        slims = [self._edited(row) for row in staying]
        if not slims:
            return FilterContext(calibration=None, facts={}, unmatched=missing)
        proverbs = {row.proverb_id: row for row in slims}
        names = sorted(proverbs)
        number = {name: i for i, name in enumerate(names)}
        own = np.array([number[row.proverb_id] for row in slims])
        scenarios = await self._encoder.embed([row.text for row in slims])
        texts = await self._encoder.embed([proverbs[name].proverb for name in names])
        meanings = await self._encoder.embed([proverbs[name].explanation or proverbs[name].proverb for name in names])
        _, group = np.unique([proverbs[name].group for name in names], return_inverse=True)
        calibration = self._calibration(previous, scenarios, texts, group, own)
        cos_other, other = _closest_other(scenarios, meanings, group, own)
        cos_proverb = np.einsum("ij,ij->i", scenarios, texts[own])
        leaking = [self._leaks(_round(cosine), calibration) and self._decides(calibration) for cosine in cos_proverb]
        twins = self._twins(slims, scenarios, calibration, leaking)
        cos_own = np.einsum("ij,ij->i", scenarios, meanings[own])
        facts = {}
        for i, row in enumerate(staying):
            twin, score, by = twins.get(i, (-1, 0.0, ""))
            facts[row.id] = Facts(
                cos_proverb=_round(cos_proverb[i]),
                cos_own=_round(cos_own[i]),
                cos_other=_round(cos_other[i]),
                other=names[other[i]] if other[i] >= 0 else "",
                twin=slims[twin].id if twin >= 0 else "",
                twin_score=_round(score),
                twin_by=by,
            )
        return FilterContext(calibration=calibration, facts=facts, unmatched=missing)

    def remarks(self, context: FilterContext) -> Sequence[str]:
        """The thresholds in force, and whether they rest on enough pairs to drop anything."""
        remarks = unmatched_remark("verdicts are on scenarios that are not here", context.unmatched)
        if made := context.calibration:
            few = "" if self._decides(made) else f"; {made.leak_pairs} pairs are too few to drop by: it only flags"
            remarks.append(
                f"embedding leak above {made.leak:.4f} (percentile {made.percentile:g} of unrelated cosines among "
                f"{made.scenarios} scenarios){few}"
            )
        return remarks

    def _calibration(
        self,
        previous: FilterContext | None,
        scenarios: Floats,
        texts: Floats,
        group: Ints,
        own: Ints,
    ) -> Calibration:
        """The earlier calibration while it fits, so that adding a row never flips old ones; a new one otherwise.

        It no longer fits once the scenarios have doubled: a trial on a few rows must not decide over all.
        """
        percentile = self._options.leak_percentile
        old = previous.calibration if previous and not self._recalibrate else None
        if (
            old
            and (old.encoder, old.percentile) == (self._encoder.id, percentile)
            and self._decides(old)
            and len(scenarios) < 2 * old.scenarios
        ):
            return old
        rng = np.random.default_rng(self._seed)
        leaks = _unrelated(scenarios, texts, group[own], group, rng)
        siblings = _unrelated(scenarios, scenarios, group[own], group[own], rng)
        return Calibration(
            encoder=self._encoder.id,
            percentile=percentile,
            leak=_round(np.percentile(leaks, percentile)) if leaks.size else 1.0,
            leak_pairs=leaks.size,
            sibling=_round(np.percentile(siblings, percentile)) if siblings.size else 1.0,
            sibling_pairs=siblings.size,
            scenarios=len(scenarios),
        )

    def _leaks(self, cos_proverb: float, calibration: Calibration | None) -> bool:
        return calibration is not None and cos_proverb > calibration.leak

    def _decides(self, calibration: Calibration | None) -> bool:
        """Whether a calibration rests on enough pairs to drop anything."""
        return calibration is not None and self._enough(calibration.leak_pairs)

    def _enough(self, pairs: int) -> bool:
        return pairs >= self._options.min_pairs

    def _twins(
        self, slims: Sequence[Slim], scenarios: Floats, calibration: Calibration, leaking: Sequence[bool]
    ) -> dict[int, tuple[int, float, str]]:
        """Row → (earlier sibling that it repeats, score, measure); a sibling that is dropped itself repeats nobody."""
        siblings: dict[str, list[int]] = collections.defaultdict(list)
        for i, row in enumerate(slims):
            siblings[row.proverb_id].append(i)
        found: dict[int, tuple[int, float, str]] = {}
        for members in siblings.values():
            for place, i in enumerate(members):
                for j in members[:place]:
                    if j in found or leaking[j]:
                        continue
                    match = self._repeats(slims[i], slims[j], float(scenarios[i] @ scenarios[j]), calibration)
                    if match and self._text_checks(slims[j].text, slims[j].proverb)[1] == "":
                        found[i] = (j, *match)
                        break
        return found

    def _repeats(self, later: Slim, earlier: Slim, cosine: float, calibration: Calibration) -> tuple[float, str] | None:
        if (overlap := rouge_l(later.text, earlier.text)) >= self._options.rouge:
            return overlap, "rouge"
        if _round(cosine) > calibration.sibling and self._enough(calibration.sibling_pairs):
            return cosine, "cosine"
        return None

    def _edited(self, row: Slim) -> Slim:
        text = self._edit(row.id)
        return msgspec.structs.replace(row, id=scenario_id(row.proverb_id, text), text=text) if text else row

    def _verdicts_on(self, row: Slim | Scenario) -> tuple[ScenarioVerdict, ...]:
        """Verdicts on a scenario as it was made, then those on what an edit made of it."""
        first = tuple(self._verdicts.get(row.id, ()))
        text = self._edit(row.id)
        return first + tuple(self._verdicts.get(scenario_id(row.proverb_id, text), ())) if text else first

    def _edit(self, scenario: str) -> str:
        """The text that annotators put in place of a scenario, or nothing; the last edit counts."""
        verdicts = self._verdicts.get(scenario, ())
        edits = [verdict.text for verdict in verdicts if verdict.verdict == "edit"]
        return show(edits[-1], joiners=self._language.joiners) if edits and not rejected(verdicts) else ""

    async def apply(self, row: Scenario, context: FilterContext, attempt: int) -> Outcome:  # noqa: ARG002
        """The scenario with all its checks, or the first reason to drop it."""
        verdicts = self._verdicts_on(row)
        audit = tuple(
            Check(name="audit", passed=verdict.verdict != "reject", evidence=verdict.note, by=verdict.annotator)
            for verdict in verdicts
        )
        if rejected(verdicts):
            return self._dropped(row, audit, "audit_rejected")
        facts = context.facts[row.id]
        if text := self._edit(row.id):
            row = msgspec.structs.replace(
                row, id=scenario_id(row.proverb_id, text), text=text, edited_from=row.id, by=_editor(verdicts)
            )
        checks, reason = self._text_checks(row.text, row.proverb)
        more, reason_by_vector = self._vector_checks(facts, context.calibration)
        checks = (*audit, *checks, *more)
        if reason or reason_by_vector:
            return self._dropped(row, checks, reason or reason_by_vector)
        return Kept(rows=(seal(msgspec.structs.replace(row, checks=row.checks + checks)),))

    def _dropped(self, row: Scenario, checks: tuple[Check, ...], reason: str) -> Dropped:
        evidence = next((check.evidence for check in checks if check.passed is False and check.evidence), "")
        return Dropped(
            reason=reason, evidence=evidence, row=seal(msgspec.structs.replace(row, checks=row.checks + checks))
        )

    def _text_checks(self, text: str, proverb: str) -> tuple[tuple[Check, ...], str]:
        """Checks that need nothing but the two texts, and the first reason to drop."""
        checks = [self._check_script(text), self._check_language(text), *self._check_length(text)]
        if self._options.keyword != "off":
            checks += self._check_keyword(text, proverb)
        reasons = {"script": "language", "language": "language", "sentences": "length", "unit_word": "keyword"}
        failed = next((check.name for check in checks if check.passed is False), "")
        return tuple(checks), reasons.get(failed, failed)

    def _check_script(self, text: str) -> Check:
        share = _round(script_share(text, self._language.scripts))
        return Check(name="script", passed=share >= self._options.script_share, score=share)

    def _check_language(self, text: str) -> Check:
        agrees = self._agrees(text) if self._options.identify else None
        return Check(name="language", passed=agrees, evidence="" if agrees is not None else "not supported")

    def _check_length(self, text: str) -> tuple[Check, Check]:
        n, n_sentences = length(text, self._language), len(sentences(text, self._language))
        return (
            Check(name="length", passed=_within(n, self._length), score=float(n), evidence=_bounds(n, self._length)),
            Check(
                name="sentences",
                passed=_within(n_sentences, self._sentences),
                score=float(n_sentences),
                evidence=_bounds(n_sentences, self._sentences),
            ),
        )

    def _check_keyword(self, text: str, proverb: str) -> tuple[Check, Check]:
        found = leak(text, proverb, self._language)
        word = unit_leak(text, self._language, self._words)
        drops = self._options.keyword == "drop"
        decided = {"none": True, "flag": None, "drop": False if drops else None}[found.verdict]
        return (
            Check(name="keyword", passed=decided, score=_round(found.score), evidence=found.evidence),
            Check(name="unit_word", passed=(False if drops else None) if word else True, evidence=word),
        )

    def _vector_checks(self, facts: Facts, calibration: Calibration | None) -> tuple[tuple[Check, ...], str]:
        """Checks by embedding, and the reason to drop; a calibration on too few pairs only flags."""
        leaks, decisive = self._leaks(facts.cos_proverb, calibration), self._decides(calibration)
        ambiguous = facts.cos_other - facts.cos_own > self._options.ambiguous_margin
        checks = (
            Check(
                name="embedding_leak",
                passed=(False if decisive else None) if leaks else True,
                score=facts.cos_proverb,
                evidence=f"above {calibration.leak:.4f}" if leaks and calibration else "",
            ),
            Check(
                name="ambiguous",
                passed=None if ambiguous else True,
                score=_round(facts.cos_other - facts.cos_own),
                evidence=facts.other if ambiguous else "",
            ),
            Check(
                name="sibling",
                passed=not facts.twin,
                score=facts.twin_score if facts.twin else None,
                evidence=f"{facts.twin_by} with {facts.twin}" if facts.twin else "",
            ),
        )
        failed = next((check.name for check in checks if check.passed is False), "")
        return checks, failed


def _closest_other(scenarios: Floats, meanings: Floats, group: Ints, own: Ints) -> tuple[NDArray[np.float64], Ints]:
    """Highest cosine of each scenario (n,) with an explanation of another meaning group, and whose it is (-1: none)."""
    best = np.full(len(scenarios), -1.0)
    whose = np.full(len(scenarios), -1)
    for start in range(0, len(scenarios), 1024):
        part = slice(start, start + 1024)
        cosines = scenarios[part] @ meanings.T
        cosines[group[None, :] == group[own[part], None]] = -np.inf
        top = cosines.argmax(axis=1)
        values = cosines[np.arange(len(top)), top]
        found = np.isfinite(values)
        best[part][found], whose[part][found] = values[found], top[found]
    return best, whose


def _unrelated(
    left: Floats, right: Floats, left_group: Ints, right_group: Ints, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Cosines of pairs of different meaning groups: all of them, or a seeded sample where there are very many."""
    n, m = len(left), len(right)
    if n * m <= _SAMPLE:
        first, second = (axis.ravel() for axis in np.indices((n, m)))
    else:
        first, second = rng.integers(n, size=_SAMPLE), rng.integers(m, size=_SAMPLE)
    apart = left_group[first] != right_group[second]
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", left[first[apart]], right[second[apart]]).astype(np.float64)
    return cosines


def _editor(verdicts: Sequence[ScenarioVerdict]) -> str:
    return [verdict.annotator for verdict in verdicts if verdict.verdict == "edit"][-1]


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _within(value: int, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= value <= bounds[1]


def _bounds(value: int, bounds: tuple[int, int]) -> str:
    return "" if _within(value, bounds) else f"{value}, not {bounds[0]} to {bounds[1]}"


def _round(value: float) -> float:
    return round(float(value), _DIGITS)
