"""Files written by hand: themes, scenarios and verdicts, matched to the records they speak of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from adage.errors import HandFileError
from adage.language import Language
from adage.records import Record, proverb_id
from adage.store.files import read_hand_file
from adage.text.unicode import key, show


class HandTheme(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a themes file."""

    proverb: str
    """Text or id of the proverb."""
    theme: str
    by: str = "hand"
    """Who wrote it."""


class HandScenario(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a scenarios file."""

    proverb: str
    """Text or id of the proverb."""
    text: str
    domain: str = ""
    by: str = "hand"


class ScenarioVerdict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a scenario verdicts file: one annotator's word on one scenario."""

    scenario_id: str
    verdict: Literal["accept", "reject", "edit"]
    annotator: str
    text: str = ""
    """The scenario as it should read, with `edit`."""
    note: str = ""


class ItemVerdict(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of an item verdicts file: one annotator's word on one item."""

    item_id: str
    verdict: Literal["accept", "reject"]
    annotator: str
    choice: str = ""
    """Proverb id that the annotator chose before the gold was shown (a blind solve)."""
    note: str = ""


class Named(Record, frozen=True, kw_only=True):
    """The column of a row that matching a hand file needs."""

    id: str


class Unmatched(Record, frozen=True, kw_only=True):
    """Context of a stage with a hand file: the lines of it that speak of no row, as the file names them."""

    references: tuple[str, ...] = ()


def themes_by_hand(paths: Iterable[Path], language: Language) -> dict[str, HandTheme]:
    """Proverb id → its theme; a later line replaces an earlier one."""
    found: dict[str, HandTheme] = {}
    for path in paths:
        for place, line in read_hand_file(path, HandTheme):
            if not line.theme.strip():
                raise HandFileError(
                    f"{path.parent / place}: the theme is empty", hint="write a label or delete the line"
                )
            found[_proverb(line.proverb, language)] = line
    return found


def scenarios_by_hand(paths: Iterable[Path], language: Language) -> dict[str, list[HandScenario]]:
    """Proverb id → its scenarios, in file order."""
    found: dict[str, list[HandScenario]] = {}
    for path in paths:
        for place, line in read_hand_file(path, HandScenario):
            if not show(line.text, joiners=language.joiners):
                raise HandFileError(f"{path.parent / place}: the scenario is empty", hint="write its text or delete it")
            found.setdefault(_proverb(line.proverb, language), []).append(line)
    return found


def scenario_verdicts(paths: Iterable[Path]) -> dict[str, list[ScenarioVerdict]]:
    """Scenario id → verdicts, in file order; an edit must carry a text."""
    found: dict[str, list[ScenarioVerdict]] = {}
    for path in paths:
        for place, line in read_hand_file(path, ScenarioVerdict):
            if line.verdict == "edit" and not line.text.strip():
                raise HandFileError(
                    f"{path.parent / place}: verdict 'edit' without a text",
                    hint='give the new wording as "text", or use the verdict "reject"',
                )
            found.setdefault(line.scenario_id, []).append(line)
    return found


def item_verdicts(paths: Iterable[Path]) -> dict[str, list[ItemVerdict]]:
    """Item id → verdicts, in file order."""
    found: dict[str, list[ItemVerdict]] = {}
    for path in paths:
        for _, line in read_hand_file(path, ItemVerdict):
            found.setdefault(line.item_id, []).append(line)
    return found


def rejected(verdicts: Iterable[ScenarioVerdict] | Iterable[ItemVerdict]) -> bool:
    """Whether at least half of the annotators reject; the last word of an annotator counts."""
    last = {verdict.annotator: verdict.verdict for verdict in verdicts}
    against = sum(verdict == "reject" for verdict in last.values())
    return bool(last) and 2 * against >= len(last)


def unmatched(references: Mapping[str, str], seen: Iterable[str]) -> tuple[str, ...]:
    """The references of a hand file (proverb id → how the file names it) that no row answers to."""
    known = set(seen)
    return tuple(reference for name, reference in references.items() if name not in known)


def unmatched_remark(what: str, references: Sequence[str]) -> list[str]:
    """A remark that names the first few lines of hand files that were of no use."""
    if not references:
        return []
    shown = ", ".join(repr(reference) for reference in references[:3]) + (" …" if len(references) > 3 else "")
    return [f"{len(references)} {what}: {shown}"]


def _proverb(reference: str, language: Language) -> str:
    """The id that a hand file's reference means: an id as it is, anything else as the proverb's text."""
    if len(reference) == 17 and reference[0] == "p" and all(c in "0123456789abcdef" for c in reference[1:]):
        return reference
    return proverb_id(language.code, key(reference, language))
