"""Language packs: everything ADAGE knows of a language is data, in `languages/CODE.toml` or derived from CLDR."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import regex
from babel import Locale, UnknownLocaleError
from babel.core import get_global

from adage.errors import LanguageError
from adage.text.scripts import IDEOGRAPHIC, JOINED, RIGHT_TO_LEFT, UNSPACED, script_class


class Pack(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the tables of a pack."""


class Key(Pack, frozen=True, kw_only=True):
    """How the key text (for duplicates only) is folded beyond Unicode; see `adage.text.unicode.key` for the order."""

    case: dict[str, str] = {}
    """String → replacement before case folding, where the language has its own rule (Turkish I → ı)."""
    letters: dict[str, str] = {}
    """Letters → as many letters: each on the left becomes the one at the same place on the right; applied after
    NFKC and case folding."""
    fold: dict[str, str] = {}
    """String → replacement, applied in order after `letters`."""
    order: tuple[str, ...] = ()
    """Regular expressions of signs that can be typed in any order and look the same: a run of them is put into the
    order given here, after `strip`."""
    strip: str = ""
    """Regular expression (module `regex`) of what is removed after NFKC and case folding, before `letters`."""
    spaces_matter: bool = True
    """False where writers put spaces freely, so that keys ignore them."""


class Words(Pack, frozen=True, kw_only=True):
    """Word lists."""

    name: str = "proverb"
    """The word for "proverb", as an instruction in the language uses it."""
    unit: tuple[str, ...] = ()
    """Words and phrases for "proverb" that a scenario must not contain; `*` stands for any letters."""
    function: tuple[str, ...] = ()
    """Function words, which are no content words (in Japanese: UniDic lemmas)."""
    placeholder: tuple[str, ...] = ()
    """Texts that stand for a missing explanation ("unknown", "clear", "same as above")."""


class Segment(Pack, frozen=True, kw_only=True):
    """How text is cut into words and sentences."""

    words: Literal["unicode", "fugashi", "runs"] = "unicode"
    """`unicode`: default word boundaries (UAX #29); `fugashi`: MeCab with UniDic (extra `[ja]`); `runs`: words are not
    separated in writing and no segmenter is at hand, so what stands between spaces and punctuation is one run."""
    content: tuple[str, ...] = ()
    """`fugashi` only: parts of speech of content words, as prefixes of `pos1-pos2-pos3`."""
    sentence_ends: tuple[str, ...] = ("…",)
    """Strings that end a sentence besides the characters of Unicode's Sentence_Terminal."""
    commas: str = ""
    """Characters of Sentence_Terminal that end none in the language."""


class Leak(Pack, frozen=True, kw_only=True):
    """How inflected forms of one word are recognised as the same word."""

    stemmer: str = ""
    """Snowball algorithm, e.g. `arabic`; empty where there is none."""
    root: Literal["", "isri"] = ""
    """Root extractor whose hits are flagged, not dropped."""
    weak: dict[str, str] = {}
    """Letters of roots that alternate → as many letters, as in `key.letters`."""
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    """Affixes stripped (longest first, a stem of `min_stem` characters remains), one after the other."""
    prefix_classes: tuple[tuple[str, ...], ...] = ()
    suffix_classes: tuple[tuple[str, ...], ...] = ()
    """The same by position, the outermost first, where a word has at most one of each."""
    min_stem: int = 2
    forms: dict[str, tuple[str, ...]] = {}
    """Word → its irregular forms (`catch` → `caught`), which no stemmer knows."""
    syllabary: tuple[int, int, int] | None = None
    """(first code point, last code point, characters per consonant) of a script whose characters are consonant +
    vowel: gives the consonant skeleton; shared skeletons of at least three consonants count as the same root."""
    skeleton_skip: tuple[str, ...] = ()
    """Consonants (first-order characters) left out of skeletons: they carry vowels. A suffix that begins with one
    (ኦች) is a vowel on the consonant before it (ቤት, ቤቶች)."""
    bare: int = 5
    """`syllabary` only: place in its row, from 0, of the character without a vowel."""
    ngram: int = 4
    """Length in characters of the n-grams whose containment backs up the rest (and, in `runs`, is all there is)."""
    anchored: bool = False
    """Whether words change at their end alone, so that related ones share their first n-gram."""


class Length(Pack, frozen=True, kw_only=True):
    """Bounds of a scenario."""

    unit: Literal["words", "characters"] = "words"
    min: int = 30
    max: int = 90
    min_sentences: int = 2
    max_sentences: int = 5


class Evaluate(Pack, frozen=True, kw_only=True):
    """How an evaluated model is asked in the language: `str.format` strings with `{unit}`, the word for "proverb"."""

    questions: tuple[str, ...] = ()
    """Wordings of the question, the usual one first; empty where there are none in the language."""
    letter: str = ""
    """Asks for the label of an option and nothing else."""
    text: str = ""
    """Asks for the text of an option and nothing else."""
    generate: str = ""
    """Asks for a last line with the label; lets the model think first."""
    cue: str = ""
    """What stands before the answer where a model completes plain text, with a space where one follows it."""


class Identify(Pack, frozen=True, kw_only=True):
    """What language identifiers call this language."""

    labels: tuple[str, ...] = ()
    """Codes that count as this language; empty means its own code."""
    sisters: tuple[str, ...] = ()
    """Close languages that an identifier without this one answers instead."""


class Examples(Pack, frozen=True, kw_only=True):
    """What proves a pack; no part of the language, so that no build depends on it. See `adage.packs.faults`."""

    same: tuple[tuple[str, str], ...] = ()
    """Spellings of one text: they have one key."""
    different: tuple[tuple[str, str], ...] = ()
    """Texts that look alike and must keep two keys."""
    words: dict[str, tuple[str, ...]] = {}
    """Text → its words."""
    sentences: dict[str, int] = {}
    """Text → how many sentences it has."""
    leaks: tuple[tuple[str, str], ...] = ()
    """Piece of a scenario, and a proverb that it shares a content word with."""
    clean: tuple[tuple[str, str], ...] = ()
    """Piece of a scenario, and a proverb that it shares no content word with, however alike."""
    identify: tuple[str, ...] = ()
    """Short ordinary sentences in the language."""


class Language(Pack, frozen=True, kw_only=True):
    """All facts about one language; see `languages/en.toml` for a commented example."""

    code: str
    """BCP 47 code."""
    name: str
    """English name."""
    native_name: str
    scripts: tuple[str, ...]
    """ISO 15924 codes."""
    direction: Literal["ltr", "rtl"] = "ltr"
    sureness: Literal["derived", "draft", "full"] = "draft"
    """How far the pack can be trusted: `derived` from CLDR alone, `draft` unchecked, `full` with tested examples."""
    joiners: bool = False
    """Whether ZWNJ and ZWJ are part of the orthography and stay in the text."""
    key: Key = Key()
    words: Words = Words()
    segment: Segment = Segment()
    leak: Leak = Leak()
    length: Length = Length()
    identify: Identify = Identify()
    letters: tuple[str, ...] = ("A", "B", "C", "D", "E", "F", "G", "H")
    """Native option letters."""
    digits: str = "0123456789"
    domains: dict[str, str] = {}
    """Scenario domain (English key) → its name in the language."""
    prompts: dict[str, str] = {}
    """Prompt instructions in the language, by stage (`generate`); absent means English. They are `str.format` strings
    with `{unit}` (the word for "proverb"), `{n}`, `{min}` and `{max}`."""
    evaluate: Evaluate = Evaluate()

    def __hash__(self) -> int:
        return hash(self.code)


_ENGLISH = Locale("en")
_PACKS = resources.files("adage") / "languages"


@lru_cache
def load(code: str) -> Language:
    """The language of a BCP 47 code: its pack, else the pack of its primary language, else what CLDR knows.

    The result carries the code as asked (in canonical case), so that varieties stay apart.

    >>> load("ar-YE").name, load("ar-ye").code
    ('Arabic', 'ar-YE')

    Raises:
        LanguageError: The code is not known, or the pack is wrong.
    """
    tag = _canonical(code)
    names = available()
    for candidate in (tag, _canonical(_alias(tag)), *(_primary(form) for form in (tag, _alias(tag)))):
        if candidate in names:
            return msgspec.structs.replace(shipped(candidate).language, code=tag)
    return derive(tag)


class Documented(NamedTuple):
    """A pack as its file has it."""

    language: Language
    examples: Examples


def shipped(code: str) -> Documented:
    """The pack that comes with ADAGE for a code of `available`, with its examples."""
    file = _PACKS / f"{code}.toml"
    return _parse(file.read_text(encoding="utf-8"), f"languages/{code}.toml")


def load_file(path: str | Path) -> Language:
    """A user's own pack; raises as `read_file` does."""
    return read_file(path).language


def read_file(path: str | Path) -> Documented:
    """A user's own pack, with its examples.

    Raises:
        LanguageError: The file cannot be read or is no valid pack; the message names file and key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LanguageError(f"the language pack {str(path)!r} cannot be read: {error}") from error
    return _parse(text, str(path))


def available() -> list[str]:
    """Codes of the packs that come with ADAGE, sorted."""
    return sorted(file.name.removesuffix(".toml") for file in _PACKS.iterdir() if file.name.endswith(".toml"))


def fingerprint(language: Language) -> str:
    """BLAKE2b-128 over everything the pack says, order of folds included."""
    return blake2b(msgspec.json.encode(language), digest_size=16).hexdigest()


def derive(code: str) -> Language:
    """What CLDR knows of a language without a pack: names, scripts, direction, digits.

    Raises:
        LanguageError: CLDR does not know the code; codes and languages with a similar name are suggested.
    """
    tag = _canonical(code)
    primary = _primary(_alias(tag))
    likely = get_global("likely_subtags").get(primary, "").split("_")
    names = (_primary(tag), _alias(tag).replace("-", "_"), primary)
    name = next((_ENGLISH.languages[known] for known in names if known in _ENGLISH.languages), None)
    if name is None and len(likely) < 2:
        raise LanguageError(f"{code!r} is not a language code that CLDR knows", hint=_suggest(code))
    asked = [part for part in tag.split("-")[1:] if len(part) == 4 and part.isalpha()]
    scripts = tuple(asked or likely[1:2] or ["Latn"])
    try:
        locale = Locale.parse("_".join([primary, *asked]))
    except (UnknownLocaleError, ValueError):
        locale = _ENGLISH
    native = locale.languages.get(primary) if locale.language == primary else None
    unspaced = not UNSPACED.isdisjoint(scripts)
    return Language(
        code=tag,
        name=name or primary,
        native_name=native or name or primary,
        scripts=scripts,
        direction="rtl" if not RIGHT_TO_LEFT.isdisjoint(scripts) else "ltr",
        sureness="derived",
        joiners=not JOINED.isdisjoint(scripts),
        key=Key(spaces_matter=IDEOGRAPHIC.isdisjoint(scripts)),
        digits=_digits(str(locale.default_numbering_system), scripts[0]),
        segment=Segment(words="runs" if unspaced else "unicode"),
        leak=Leak(ngram=4 if IDEOGRAPHIC.isdisjoint(scripts) else 2),
        length=Length(unit="characters", min=80, max=250) if unspaced else Length(),
    )


def variety(tag: str) -> str:
    """A BCP 47 tag in canonical case, or an empty string where it is none that CLDR knows.

    >>> variety("ar_eg"), variety("Egyptian"), variety("ar-QQ")
    ('ar-EG', '', '')
    """
    canonical = _canonical(tag)
    match = _TAG.fullmatch(canonical)
    if match is None or _primary(_alias(canonical)) not in _ENGLISH.languages:
        return ""
    region, script = match["region"], match["script"]
    known = (not region or region in _ENGLISH.territories) and (not script or script in _ENGLISH.scripts)
    return canonical if known else ""


_TAG = regex.compile(
    r"[a-z]{2,3}(?:-(?P<script>[A-Z][a-z]{3}))?(?:-(?P<region>[A-Z]{2}|\d{3}))?"
    r"(?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*(?:-x(?:-[A-Za-z\d]{1,8})+)?"
)
"""Language, script, region, variants and private use (RFC 5646), without extensions."""


def _canonical(code: str) -> str:
    """A code in the case of BCP 47: `ZH_hant_tw` → `zh-Hant-TW`."""
    first, *rest = code.replace("_", "-").split("-")
    parts = [part.title() if len(part) == 4 else part.upper() if len(part) == 2 else part.lower() for part in rest]
    return "-".join([first.lower(), *parts])


def _primary(tag: str) -> str:
    return tag.partition("-")[0]


def _alias(tag: str) -> str:
    """The tag with an outdated or finer primary code replaced as CLDR does: `iw` → `he`, `prs` → `fa-AF`."""
    primary, _, rest = tag.partition("-")
    alias = get_global("language_aliases").get(primary, primary).replace("_", "-")
    return f"{alias}-{rest}" if rest else alias


def _digits(system: str, script: str) -> str:
    """The digits of a CLDR numbering system, which is named after a script (or is one of the two Arabic rows)."""
    zero = {"latn": "0", "arab": "٠", "arabext": "۰"}.get(system)
    if zero is None:
        native = regex.compile(rf"[{script_class([script])}&&\p{{Nd}}]", regex.VERSION1)
        zero = next((char for char in map(chr, range(0x20000)) if native.match(char)), "0")
    return "".join(chr(ord(zero) + value) for value in range(10))


def _suggest(code: str) -> str:
    """A hint with the codes that were perhaps meant: by name (`amharic` → am) and by spelling."""
    names = {name.casefold(): tag for tag, name in _ENGLISH.languages.items() if "_" not in tag}
    wanted = code.casefold()
    near = [names[name] for name in difflib.get_close_matches(wanted, names, n=3)]
    near += difflib.get_close_matches(wanted, names.values(), n=3)
    listed = ", ".join(f"{tag} ({_ENGLISH.languages[tag]})" for tag in dict.fromkeys(near))
    own = "or write a pack of your own and name its file"
    return f"did you mean {listed}? {own}" if listed else f"use a BCP 47 code such as 'sw', {own}"


def _parse(text: str, file: str) -> Documented:
    """A pack from TOML text; `file` is what messages call it."""
    try:
        content = tomllib.loads(text)
        listed = {key: content.pop(key) for key in ("examples",) if key in content}
        examples = msgspec.convert(listed, _Listed).examples
        language = msgspec.convert(content, Language)
        _check(language)
    except tomllib.TOMLDecodeError as error:
        raise LanguageError(f"{file} is not valid TOML: {error}") from error
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at ")
        key = place.strip("`").removeprefix("$").removeprefix(".")
        raise LanguageError(
            f"{file}: {key or 'top level'}: {message}",
            hint="the keys and their types are explained in languages/en.toml",
        ) from error
    return Documented(language, examples)


class _Listed(msgspec.Struct):
    """The table of examples at its place, so that messages name it."""

    examples: Examples = Examples()


def _check(language: Language) -> None:
    """Raise a `ValidationError`, placed as msgspec does, for what types alone cannot say."""
    try:
        script_class(language.scripts)
    except LanguageError as error:
        raise msgspec.ValidationError(f"{error.message} - at `$.scripts`") from error
    patterns = {"strip": language.key.strip} | {f"order[{i}]": part for i, part in enumerate(language.key.order)}
    for name, pattern in patterns.items():
        try:
            groups = regex.compile(pattern, regex.VERSION1).groups
        except regex.error as error:
            raise msgspec.ValidationError(f"not a regular expression: {error} - at `$.key.{name}`") from error
        if groups and name.startswith("order"):
            raise msgspec.ValidationError(f"expected (?:…) for (…), got {pattern!r} - at `$.key.{name}`")
    for place, folds in (("key.letters", language.key.letters), ("leak.weak", language.leak.weak)):
        for left, right in folds.items():
            if len(left) != len(right):
                message = f"{left!r} has {len(left)} letters, its replacement {right!r} has {len(right)}"
                raise msgspec.ValidationError(f"{message} - at `$.{place}`")
    if len(language.digits) != 10:
        raise msgspec.ValidationError(f"expected ten digits, got {language.digits!r} - at `$.digits`")
    _check_prompts(language.prompts, {"n": 1, "min": 1, "max": 1, "unit": ""}, "prompts")
    asked = language.evaluate
    texts = {f"questions[{place}]": question for place, question in enumerate(asked.questions)}
    texts |= {"letter": asked.letter, "text": asked.text, "generate": asked.generate, "cue": asked.cue}
    _check_prompts(texts, {"unit": ""}, "evaluate")
    if asked.questions and not all(texts.values()):
        raise msgspec.ValidationError("questions, letter, text, generate and cue go together - at `$.evaluate`")


def _check_prompts(prompts: Mapping[str, str], fields: Mapping[str, object], table: str) -> None:
    for name, prompt in prompts.items():
        try:
            prompt.format(**fields)
        except (KeyError, IndexError, ValueError) as error:
            message = f"expected a text with no other fields than {', '.join(fields)}, got {prompt!r}"
            raise msgspec.ValidationError(f"{message} - at `$.{table}.{name}`") from error
