"""The records that flow through the pipeline: frozen, typed, one JSON object a line between the stages.

Each record names its content (`id`, stable under every edit but that of its text) and seals it (`row_hash`, over
everything else). `seal` computes both hashes' last part, `verify` checks them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal, TypeVar

import msgspec

from adage.errors import VerificationError

Role = Literal["gold", "same_cluster", "near_match", "random"]
Assembly = Literal["balanced", "paper"]
Split = Literal["train", "dev", "test"]


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of all records: immutable, keyword-only; fields at their default are not written."""


R = TypeVar("R", bound="Sealed")

_canonical = msgspec.json.Encoder(order="sorted")


def digest(*parts: object, size: int = 16) -> str:
    """BLAKE2b over the canonical JSON (sorted keys) of `parts`, as `2 * size` hex digits.

    >>> digest("a", 1) == digest("a", 1), digest("a", 1) == digest("a", "1")
    (True, False)
    """
    return blake2b(_canonical.encode(parts), digest_size=size).hexdigest()


def proverb_id(language: str, key: str) -> str:
    """Id of a proverb: its language and its key text (folded, so that spellings of one proverb share it)."""
    return "p" + digest(language, key, size=8)


def scenario_id(proverb: str, text: str) -> str:
    """Id of a scenario: the proverb it was written for and its text."""
    return "s" + digest(proverb, text, size=8)


def item_id(scenario: str, options: tuple[str, ...] | list[str], assembly: str) -> str:
    """Id of an item: scenario, the set of option proverbs, and the assembly that chose them."""
    return "i" + digest(scenario, sorted(options), assembly, size=8)


class Check(Record, frozen=True, kw_only=True):
    """One judgement on a record, appended on the way and never removed."""

    name: str
    """What was checked, e.g. `language`, `keyword`, `judge:fits`."""
    passed: bool | None
    """True, False, or None where the check could not decide ("not supported", too few data)."""
    score: float | None = None
    """The number behind the verdict, in the check's own unit; rounded to 4 decimals."""
    evidence: str = ""
    """What a person needs to see why, e.g. the word that leaked."""
    by: str = "adage"
    """Who judged: `adage`, a model's name, an annotator."""


class Source(Record, frozen=True, kw_only=True):
    """Where a corpus comes from and what may be done with it; records refer to it by `source_id`."""

    id: str
    title: str
    url: str = ""
    licence: str = "unknown"
    """SPDX identifier, or `unknown`."""
    attribution: str = ""
    variety: str = ""
    """BCP 47 tag of the variety, where it is narrower than the language."""
    consent: str = ""
    """How the community agreed, in its own words."""
    redistribute: bool = False
    """Whether texts may be released; False means a release holds ids and hashes only."""

    @property
    def releasable(self) -> bool:
        """Whether texts may be passed on: the owner says so, under a licence that is known."""
        return self.redistribute and self.licence.casefold() not in {"", "unknown"}


class RawRow(Record, frozen=True, kw_only=True):
    """One record of a user's file as the reader understood it, before any judgement of the whole."""

    text: str
    """Proverb as shown: NFC, damage and control characters mended, otherwise untouched."""
    explanations: tuple[str, ...] = ()
    """Explanations in the corpus language, best first; possibly empty."""
    gloss: str = ""
    """A translation or note in another language, for maintainers; never shown to a model that is evaluated."""
    reading: str = ""
    variants: tuple[str, ...] = ()
    """Other wordings that the file itself gives for this proverb."""
    group: str = ""
    """Hand-marked meaning group (any string), when the file has one."""
    equivalent: str = ""
    """Id of the lesson that proverbs of other languages teach too, when the file marks it."""
    variety: str = ""
    """BCP 47 tag of the variety, e.g. `ar-EG`, when the file says it of each row."""
    place: str
    """`file:line` or `file#record`, for messages."""
    number: int = 0
    """1-based place in the reading; names the row."""
    rejected: str = ""
    """Why the reader sets the row aside, as `reason` or `reason: evidence`; empty for a good row."""
    flags: tuple[str, ...] = ()
    """Problems that do not reject, e.g. `explanation_placeholder`, `leak`."""
    source_id: str


class Theme(Record, frozen=True, kw_only=True):
    """A proverb's theme: the label of the proverb and the cluster the label fell into."""

    label: str
    """Short English label; empty where labelling is off (`label: none`)."""
    by: str
    """Who labelled: a model's name or a person."""
    cluster: int | None = None
    """0-based cluster number; clusters are numbered by their smallest member id."""
    name: str = ""
    """Name of the cluster."""
    named_by: str = ""


class Sealed(Record, frozen=True, kw_only=True):
    """A record with an id and a hash over its whole content."""

    id: str
    row_hash: str = ""
    """BLAKE2b-128 over the canonical JSON of all other fields."""


def seal(record: R) -> R:
    """The record with `row_hash` computed over all its other fields."""
    return msgspec.structs.replace(record, row_hash=content_hash(record))


def content_hash(record: Sealed) -> str:
    """BLAKE2b-128 (32 hex digits) over the canonical JSON of every field but `row_hash`."""
    bare = msgspec.structs.replace(record, row_hash="") if record.row_hash else record
    return blake2b(_canonical.encode(bare), digest_size=16).hexdigest()


class Proverb(Sealed, frozen=True, kw_only=True):
    """A distinct proverb with everything its sources said about it."""

    language: str
    text: str
    key: str
    """Folded text that identifies the proverb; never shown."""
    explanation: str = ""
    """Best usable explanation, or empty."""
    alternatives: tuple[str, ...] = ()
    """All other usable explanations."""
    gloss: str = ""
    group: str
    """Meaning group: id of its first member. Members are never each other's distractors and share a split."""
    equivalent: str = ""
    """Id of the lesson that proverbs of other languages teach too; empty where the corpus does not mark it."""
    variety: str = ""
    """BCP 47 tag of the variety the proverb belongs to; empty where the corpus does not say it of each one."""
    source_id: str
    place: str
    merged: tuple[str, ...] = ()
    """Places of the rows merged into this proverb."""
    checks: tuple[Check, ...] = ()
    theme: Theme | None = None

    def expected_id(self) -> str:
        """Id that the content implies."""
        return proverb_id(self.language, self.key)


class Scenario(Sealed, frozen=True, kw_only=True):
    """A short story that one proverb fits; carries what later stages need of the proverb."""

    proverb_id: str
    proverb: str
    explanation: str = ""
    group: str
    equivalent: str = ""
    """Lesson that the proverb shares with those of other languages."""
    cluster: int
    text: str
    domain: str = ""
    by: str
    """Who wrote it: a model's name or a person."""
    edited_from: str = ""
    """Id of the scenario that an annotator's edit replaced."""
    source_id: str
    checks: tuple[Check, ...] = ()

    def expected_id(self) -> str:
        """Id that the content implies."""
        return scenario_id(self.proverb_id, self.text)


class Option(Record, frozen=True, kw_only=True):
    """One answer option with the role it plays and the scores it was chosen by."""

    proverb_id: str
    text: str
    role: Role
    group: str
    cluster: int
    cluster_level: int = 0
    """Steps climbed in the dendrogram to find a same-cluster option; 0 = the gold's own cluster."""
    cos_scenario: float
    """Cosine of the scenario and this proverb's explanation."""
    cos_gold: float
    """Cosine of the gold's explanation and this proverb's explanation."""
    length_ratio: float
    """Characters of this option / characters of the gold."""


class Item(Sealed, frozen=True, kw_only=True):
    """A multiple-choice item: a scenario and its options (`options[answer]` is the gold)."""

    assembly: Assembly
    language: str
    scenario_id: str
    scenario: str
    proverb_id: str
    group: str
    """Meaning group of the gold."""
    equivalent: str = ""
    """Lesson that the gold shares with proverbs of other languages."""
    by: str
    """Who wrote the scenario."""
    options: tuple[Option, ...]
    """Gold first until curate deals the positions."""
    answer: int = 0
    """0-based index of the gold among the options."""
    split: Split | None = None
    source_id: str
    checks: tuple[Check, ...] = ()

    def expected_id(self) -> str:
        """Id that the content implies."""
        return item_id(self.scenario_id, [option.proverb_id for option in self.options], self.assembly)


class Manifest(Record, frozen=True, kw_only=True, omit_defaults=False):
    """`manifest.json`: what the folder of a benchmark holds, nothing volatile."""

    name: str
    release: str
    released: str
    language: str
    unit: str = ""
    """The recipe's own word for what an option is; empty: the language's word for a proverb."""
    encoder: str = ""
    """Identity of the encoder that the options were chosen with."""
    canary: str
    texts: bool
    """Whether the folder holds texts; a release without them holds ids and hashes only."""
    redistribute: bool
    """Whether the rights allow the texts to be passed on."""
    recipe: str
    """Hash of the recipe."""
    items: dict[str, dict[str, int]]
    """Assembly → split → items."""
    files: dict[str, str]
    """File → BLAKE2b-128."""


def verify(record: Proverb | Scenario | Item) -> None:
    """Raise `VerificationError` when the record's id or hash does not follow from its content."""
    kind = type(record).__name__.lower()
    if (expected := record.expected_id()) != record.id:
        raise VerificationError(
            f"{kind} {record.id!r} has content whose id is {expected!r}",
            hint="the file was edited by hand: rebuild the stage, or supply the edit as a hand file",
        )
    if (expected := content_hash(record)) != record.row_hash:
        raise VerificationError(
            f"{kind} {record.id!r} has row_hash {record.row_hash!r}, but its content hashes to {expected!r}",
            hint="the file was edited by hand: rebuild the stage, or supply the edit as a hand file",
        )
