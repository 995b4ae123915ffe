"""Language packs for people: which there are, what one says, and whether its examples hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

import msgspec

from adage.errors import LanguageError
from adage.language import Documented, Examples, Language, available, load, read_file, shipped
from adage.models.lid import agrees, identifier
from adage.text.leakage import leak
from adage.text.scripts import script_share
from adage.text.segment import sentences, words
from adage.text.unicode import key

_SHARE = 0.9
"""Share of letters in the language's scripts from which a text is taken to be in it; the filter's own bound."""
_MISTAKEN = 0.2
"""Share of the sentences that the identifier may take for another language before the labels are at fault."""


class Summary(msgspec.Struct, kw_only=True):
    """One language in a list."""

    code: str
    name: str
    native_name: str
    scripts: tuple[str, ...]
    direction: str
    sureness: str


class Identified(msgspec.Struct, kw_only=True):
    """What the language identifier makes of the example sentences."""

    right: int = 0
    wrong: int = 0
    unsure: int = 0
    """It does not know the language, or is too unsure to count."""


class Checked(msgspec.Struct, kw_only=True):
    """A pack after its check."""

    code: str
    file: str
    examples: int
    """How many examples were run."""
    identified: Identified
    faults: list[str]
    """Each with file and key; none where the pack holds."""


class Facts(Summary, kw_only=True):
    """What is known of a language, in the order in which people ask."""

    letters: tuple[str, ...]
    digits: str
    proverb: str
    """The word for "proverb", in English where it is not known."""
    function_words: int
    folds: int
    """Replacements of letters and strings in keys."""
    spaces_matter: bool
    joiners: bool
    words: str
    """How text is cut into words."""
    stemmer: str
    affixes: int
    irregular_forms: int
    length: str
    domains: dict[str, str]
    prompts: tuple[str, ...]
    """Stages whose instructions are in the language."""
    evaluate: int
    """Wordings of the question for evaluated models."""
    identifier: str
    identified: bool
    """Whether the language identifier knows the language."""


def summaries() -> list[Summary]:
    """The packs that come with ADAGE."""
    return [
        Summary(
            code=pack.code,
            name=pack.name,
            native_name=pack.native_name,
            scripts=pack.scripts,
            direction=pack.direction,
            sureness=pack.sureness,
        )
        for pack in map(load, available())
    ]


def facts(code: str) -> Facts:
    """What is known of a language, from its pack or from CLDR; raises `LanguageError` for an unknown code."""
    pack = load(code)
    identify = identifier()
    bounds = pack.length
    return Facts(
        code=pack.code,
        name=pack.name,
        native_name=pack.native_name,
        scripts=pack.scripts,
        direction=pack.direction,
        sureness=pack.sureness,
        letters=pack.letters,
        digits=pack.digits,
        proverb=pack.words.name,
        function_words=len(pack.words.function),
        folds=sum(map(len, pack.key.letters)) + len(pack.key.fold) + len(pack.key.case),
        spaces_matter=pack.key.spaces_matter,
        joiners=pack.joiners,
        words=pack.segment.words,
        stemmer=pack.leak.stemmer,
        affixes=sum(
            map(len, (pack.leak.prefixes, pack.leak.suffixes, *pack.leak.prefix_classes, *pack.leak.suffix_classes))
        ),
        irregular_forms=sum(map(len, pack.leak.forms.values())),
        length=f"{bounds.min}-{bounds.max} {bounds.unit}, {bounds.min_sentences}-{bounds.max_sentences} sentences",
        domains=pack.domains,
        prompts=tuple(pack.prompts),
        evaluate=len(pack.evaluate.questions),
        identifier=identify.id,
        identified=any(identify.supports(label) for label in pack.identify.labels or (pack.code,)),
    )


def check(which: str = "") -> list[Checked]:
    """Run the examples of a pack: of a file, of the language of a code, or of every pack that comes with ADAGE.

    Raises:
        LanguageError: the file is no valid pack, or there is no pack for the code.
        MissingExtra: the pack needs a package that is not installed.
    """
    if not which:
        return [_checked(shipped(code), f"languages/{code}.toml") for code in available()]
    if which.endswith(".toml") or Path(which).is_file():
        return [_checked(read_file(which), which)]
    pack = load(which)
    code = next((code for code in available() if load(code).name == pack.name), "")
    if not code:
        raise LanguageError(
            f"there is no pack for {which!r} to check: everything about it is derived from CLDR",
            hint=f"write one with: adage languages new {which}",
        )
    return [_checked(shipped(code), f"languages/{code}.toml")]


def _checked(pack: Documented, file: str) -> Checked:
    language, examples = pack
    identified = _identified(examples.identify, language)
    found = chain(_lists(language), _prompts(language), _keys(examples, language), _cuts(examples, language))
    faults = [*found, *_leaks(examples, language), *_sentences(examples, identified, language)]
    return Checked(
        code=language.code,
        file=file,
        examples=sum(len(getattr(examples, field)) for field in examples.__struct_fields__),
        identified=identified,
        faults=[f"{file}: {fault}" for fault in faults],
    )


def _lists(language: Language) -> Iterator[str]:
    """Entries that say nothing, or say it twice."""
    lists: dict[str, Iterable[str]] = {
        "letters": language.letters,
        "words.unit": language.words.unit,
        "words.function": language.words.function,
        "domains": language.domains.values(),
    }
    for name, entries in lists.items():
        twice = [entry for entry, count in Counter(entries).items() if count > 1]
        if twice:
            yield f"{name}: {twice[0]!r} stands there {Counter(entries)[twice[0]]} times"
    for name in ("words.function", "words.unit"):
        for entry in lists[name]:
            if not key(entry.replace("*", ""), language):
                yield f"{name}: nothing is left of {entry!r} in a key"
    for name in ("words.function", "domains"):
        for entry in lists[name]:
            if script_share(entry, language.scripts) < _SHARE:
                yield f"{name}: {entry!r} is not in {' or '.join(language.scripts)}"


def _prompts(language: Language) -> Iterator[str]:
    """Every prompt filled in: a speaker's language all through, and what is asked for named in it."""
    unit, asked = language.words.name, language.evaluate
    filled = {name: text.format(n=10, min=30, max=90, unit=unit) for name, text in language.prompts.items()}
    texts = {f"prompts.{name}": text for name, text in filled.items()}
    texts |= {f"evaluate.questions[{i}]": text.format(unit=unit) for i, text in enumerate(asked.questions)}
    for name, text in texts.items():
        if unit not in text:
            yield f"{name}: the word for what is asked for is missing; expected {{unit}} in it"
    if filled and not all(number in filled.get("generate", "10 30 90") for number in ("10", "30", "90")):
        yield "prompts.generate: expected the fields {n}, {min} and {max}"
    texts |= {f"evaluate.{name}": getattr(asked, name).format(unit=unit) for name in ("letter", "text", "generate")}
    for name, text in texts.items():
        if text and script_share(text, language.scripts) < _SHARE:
            yield f"{name}: {text!r} is not in {' or '.join(language.scripts)}"


def _keys(examples: Examples, language: Language) -> Iterator[str]:
    for name, pairs, alike in (("same", examples.same, True), ("different", examples.different, False)):
        for place, (one, other) in enumerate(pairs):
            keys = key(one, language), key(other, language)
            if (keys[0] == keys[1]) != alike:
                shown = f"the keys {keys[0]!r} and {keys[1]!r}" if alike else f"one key, {keys[0]!r}"
                yield f"examples.{name}[{place}]: {one!r} and {other!r} have {shown}"


def _cuts(examples: Examples, language: Language) -> Iterator[str]:
    for text, expected in examples.words.items():
        found = words(text, language)
        if found != list(expected):
            yield f"examples.words: {text!r} is cut into {found}, expected {list(expected)}"
    for text, count in examples.sentences.items():
        parts = sentences(text, language)
        if len(parts) != count:
            yield f"examples.sentences: {text!r} has {len(parts)} sentences {parts}, expected {count}"


def _leaks(examples: Examples, language: Language) -> Iterator[str]:
    for place, (scenario, proverb) in enumerate(examples.leaks):
        if leak(scenario, proverb, language).verdict == "none":
            yield f"examples.leaks[{place}]: no word of {proverb!r} is recognised in {scenario!r}"
    for place, (scenario, proverb) in enumerate(examples.clean):
        found = leak(scenario, proverb, language)
        if found.verdict != "none":
            yield f"examples.clean[{place}]: {scenario!r} is taken to give {proverb!r} away: {found.evidence}"


def _sentences(examples: Examples, identified: Identified, language: Language) -> Iterator[str]:
    for place, text in enumerate(examples.identify):
        if script_share(text, language.scripts) < _SHARE:
            yield f"examples.identify[{place}]: {text!r} is not in {' or '.join(language.scripts)}"
    if identified.wrong > _MISTAKEN * len(examples.identify):
        yield (
            f"examples.identify: {identified.wrong} of {len(examples.identify)} sentences are taken for another "
            f"language than {', '.join(language.identify.labels or (language.code,))}"
        )


def _identified(texts: Iterable[str], language: Language) -> Identified:
    """How the identifier that is in use judges each text."""
    counts = Counter(agrees(identifier(), text, language) for text in texts)
    return Identified(right=counts[True], wrong=counts[False], unsure=counts[None])
