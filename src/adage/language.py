"""Language packs: everything ADAGE knows of a language is data, in `languages/CODE.toml` or derived from CLDR."""

from __future__ import annotations

import difflib
import tomllib
from functools import lru_cache
from hashlib import blake2b
from importlib import resources
from pathlib import Path
from typing import Literal

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


class Leak(Pack, frozen=True, kw_only=True):
    """How inflected forms of one word are recognised as the same word."""

    stemmer: str = ""
    """Snowball algorithm, e.g. `arabic`; empty where there is none."""
    root: Literal["", "isri"] = ""
    """Root extractor whose hits are flagged, not dropped."""
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    """Affixes stripped (longest first, a stem of `min_stem` characters remains)."""
    min_stem: int = 2
    syllabary: tuple[int, int, int] | None = None
    """(first code point, last code point, characters per consonant) of a script whose characters are consonant +
    vowel: gives the consonant skeleton; shared skeletons of at least three consonants count as the same root."""
    skeleton_skip: tuple[str, ...] = ()
    """Consonants (first-order characters) left out of skeletons, such as weak radicals."""
    ngram: int = 4
    """Length in characters of the n-grams whose containment backs up the rest (and, in `runs`, is all there is)."""


class Length(Pack, frozen=True, kw_only=True):
    """Bounds of a scenario."""

    unit: Literal["words", "characters"] = "words"
    min: int = 30
    max: int = 90
    min_sentences: int = 2
    max_sentences: int = 5


class Identify(Pack, frozen=True, kw_only=True):
    """What language identifiers call this language."""

    labels: tuple[str, ...] = ()
    """Codes that count as this language; empty means its own code."""
    sisters: tuple[str, ...] = ()
    """Close languages that an identifier without this one answers instead."""


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
    """Prompt instructions in the language, by stage (`generate`, `evaluate`); absent means English. They are
    `str.format` strings with `{unit}` (the word for "proverb"), and in `generate` `{n}`, `{min}` and `{max}`."""

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
            file = _PACKS / f"{candidate}.toml"
            pack = _parse(file.read_text(encoding="utf-8"), f"languages/{candidate}.toml")
            return msgspec.structs.replace(pack, code=tag)
    return derive(tag)


def load_file(path: str | Path) -> Language:
    """A user's own pack.

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


def _parse(text: str, file: str) -> Language:
    """A pack from TOML text; `file` is what messages call it."""
    try:
        language = msgspec.convert(tomllib.loads(text), Language)
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
    return language


def _check(language: Language) -> None:
    """Raise a `ValidationError`, placed as msgspec does, for what types alone cannot say."""
    try:
        script_class(language.scripts)
    except LanguageError as error:
        raise msgspec.ValidationError(f"{error.message} - at `$.scripts`") from error
    try:
        regex.compile(language.key.strip)
    except regex.error as error:
        raise msgspec.ValidationError(f"not a regular expression: {error} - at `$.key.strip`") from error
    for left, right in language.key.letters.items():
        if len(left) != len(right):
            message = f"{left!r} has {len(left)} letters, its replacement {right!r} has {len(right)}"
            raise msgspec.ValidationError(f"{message} - at `$.key.letters`")
    if len(language.digits) != 10:
        raise msgspec.ValidationError(f"expected ten digits, got {language.digits!r} - at `$.digits`")
    fields = {"n": 1, "min": 1, "max": 1, "unit": ""}
    for stage, prompt in language.prompts.items():
        try:
            prompt.format(**fields)
        except (KeyError, IndexError, ValueError) as error:
            message = f"expected a text with no other fields than {', '.join(fields)}, got {prompt!r}"
            raise msgspec.ValidationError(f"{message} - at `$.prompts.{stage}`") from error
