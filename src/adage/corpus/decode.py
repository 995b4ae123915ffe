"""Bytes to text without guessing into wrong text: an encoding is proved, or well ahead of its rivals, or asked for."""

from __future__ import annotations

import codecs
import tomllib
from functools import cache
from importlib import resources
from typing import NamedTuple, TypedDict

import msgspec
import regex

from adage.errors import CorpusError
from adage.language import Language
from adage.text.scripts import script_share

SAMPLE_BYTES = 1 << 16
"""How much non-ASCII text is looked at to tell encodings apart."""
GOOD = 0.7
"""Score below which no legacy encoding is believed."""
MARGIN = 0.05
"""By how much the best legacy encoding must lead the next one that reads the bytes as another text."""
TOLERATED = 0.02
"""Share of broken sequences up to which a file still counts as damaged UTF-8 rather than as something else."""


class Decoded(NamedTuple):
    """Text of a file and how it was read."""

    text: str
    encoding: str
    confidence: float
    """1 for proved (Unicode, or given by the user), else the score of the winner in 0..1."""
    twice: bool = False
    """Whether the file had been encoded to UTF-8 twice (mojibake), which was undone."""


class _Tables(TypedDict):
    scripts: dict[str, list[str]]
    frequent: dict[str, list[list[int]]]
    languages: dict[str, list[str]]


@cache
def _tables() -> _Tables:
    text = resources.files("adage.corpus").joinpath("encodings.toml").read_text("utf-8")
    return msgspec.convert(tomllib.loads(text), _Tables)


def decode(data: bytes, language: Language, *, encoding: str = "", name: str = "the file") -> Decoded:
    """Decode a whole file.

    Byte order marks and valid UTF-8 decide at once; UTF-16 and UTF-32 without a mark show by their zero bytes. Any
    other file is read in each legacy encoding of the language's scripts, and the readings are scored by script, letter
    case, stray marks and the frequency ranges of double-byte sets.

    Args:
        data: Content of the file.
        language: Whose scripts are expected.
        encoding: Name given by the user, which is then obeyed.
        name: What messages call the file.

    Raises:
        CorpusError: The given encoding is unknown or does not fit, or no reading is clearly right.
    """
    if encoding:
        return Decoded(_strict(data, encoding, name), codecs.lookup(encoding).name, 1.0)
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return Decoded(_strict(data, codec, name).removeprefix("\ufeff"), codec, 1.0)
    if (wide := _wide(data)) is not None:
        return wide
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        return _broken_utf8(data) or _legacy(data, language, name, error.start)
    mended = _undo_double(text, language)
    return Decoded(mended, "utf-8", 0.9, twice=True) if mended is not None else Decoded(text, "utf-8", 1.0)


# UTF-32's little-endian mark begins with UTF-16's, so it comes first.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def _strict(data: bytes, encoding: str, name: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise CorpusError(
            f"no encoding is called {encoding!r}", hint="use a name such as utf-8, cp1256, euc-jp, gb18030"
        ) from None
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, start) + 1
        raise CorpusError(
            f"{name}:{line}: byte {start} ({data[start : start + 4].hex(' ')}) is not valid {encoding}",
            hint="give the right one with --encoding, or leave it out to have it detected",
        ) from None


def _wide(data: bytes) -> Decoded | None:
    """UTF-16 or UTF-32 without a mark: of the four readings, the one that has line ends or spaces and no junk.

    Read in the wrong byte order, a line feed becomes U+0A00, which Unicode leaves unassigned.
    """
    if b"\0" not in data[:SAMPLE_BYTES] or _is_utf8(data):
        return None
    for codec in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be"):
        try:
            text = data.decode(codec)
        except UnicodeDecodeError:
            continue
        if regex.search(r"[\n ]", text) and not _JUNK.search(text, endpos=SAMPLE_BYTES):
            return Decoded(text, codec, 0.95)
    return None


_JUNK = regex.compile(r"[\p{Cc}\p{Co}\p{Cn}--[\t\r\n]]", regex.VERSION1)


def _is_utf8(data: bytes) -> bool:
    """Whether bytes are UTF-8 text with stray zero bytes, rather than units of which every second byte is low."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return data.count(0) < len(data) / 10 and not _JUNK.search(text[:SAMPLE_BYTES].replace("\0", ""))


def _broken_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with a few broken sequences (a cut-off file, a spliced one): those become U+FFFD and are judged later."""
    text = data.decode("utf-8", errors="replace")
    bad = text.count("\ufffd")
    good = sum(1 for char in text if char > "\x7f") - bad
    return Decoded(text, "utf-8", 0.8) if good and bad <= max(1, TOLERATED * good) and good >= 10 * bad else None


_SLOPPY = {byte: bytes([byte]).decode("cp1252", errors="ignore") or chr(byte) for byte in range(256)}
_UNSLOPPY = {char: byte for byte, char in _SLOPPY.items()} | {chr(byte): byte for byte in range(256)}


def _undo_double(text: str, language: Language) -> str | None:
    """UTF-8 that was read as cp1252 or Latin-1 and encoded again; None unless undoing it is lossless and better.

    >>> from adage.language import Language
    >>> arabic = Language(code="ar", name="Arabic", native_name="العربية", scripts=("Arab",))
    >>> _undo_double("Ø§Ù„ØµØ¨Ø±", arabic)
    'الصبر'
    """
    if text.isascii():
        return None
    try:
        mended = bytes(_UNSLOPPY[char] for char in text).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return None
    better = script_share(mended, language.scripts) >= script_share(text, language.scripts)
    return mended if better and len(mended) < len(text) else None


def _legacy(data: bytes, language: Language, name: str, first_bad: int) -> Decoded:
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    sample = b"".join(lines)[:SAMPLE_BYTES]
    readings: list[tuple[float, str, str]] = []
    for encoding in _candidates(language):
        try:
            data.decode(encoding)
            text = sample.decode(encoding, errors="ignore")
        except UnicodeError:
            continue
        readings.append((_score(text, encoding, language), encoding, text))
    readings.sort(key=lambda reading: -reading[0])
    best = readings[0] if readings else (0.0, "", "")
    rival = next((reading for reading in readings[1:] if reading[2] != best[2]), (0.0, "", ""))
    if best[0] < GOOD or best[0] - rival[0] < MARGIN:
        tried = ", ".join(f"{encoding} ({score:.2f}: {text.strip()[:24]!r})" for score, encoding, text in readings[:3])
        raise CorpusError(
            f"{name} is not UTF-8 (byte {first_bad}), and no encoding of {language.name} fits clearly; "
            f"tried: {tried or 'none that decodes'}",
            hint="look at the samples and name the right one with --encoding",
        )
    return Decoded(data.decode(best[1]), best[1], round(min(best[0], 1.0), 3))


def _candidates(language: Language) -> list[str]:
    tables = _tables()
    base = language.code.split("-")[0]
    own = [page for page, codes in tables["languages"].items() if base in codes]
    found = [encoding for script in language.scripts for encoding in tables["scripts"].get(script, ())]
    return list(dict.fromkeys(own + found))


_WORD = regex.compile(r"\p{L}[\p{L}\p{M}]*")
_REGULAR = regex.compile(r"\P{Lu}+|\p{Lu}\P{Lu}*|\p{Lu}+")
_STRAY = regex.compile(
    r"(?<![\p{L}\p{M}])\p{M}|\p{M}{3,}|[\p{Cc}\p{Co}\p{Cn}--[\t\r\n]]"
    r"|[\p{Sc}\p{Sk}\p{So}\p{Sm}\p{No}&&[^\x00-\x7f]]|[\uff61-\uff9f]",
    regex.VERSION1,
)
_SIGN = regex.compile(r"[^\p{L}\p{M}]")
_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")


def _score(text: str, encoding: str, language: Language) -> float:
    """How much a reading looks like the language, 0..1; all but the usual encoding of the locale lose a tenth.

    Product of: share of non-ASCII letters in the expected scripts, share of words of regular letter case and one
    script, absence of stray marks and controls, for double-byte sets the share of characters in their frequent ranges
    (as in Li and Momoi's composite approach of 2001), and for Japanese enough kana.
    """
    foreign = "".join(char for char in text if char > "\x7f")
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    if not words or not foreign:
        return 0.0
    regular = sum(1 for word in words if _REGULAR.fullmatch(word) and _one_script(word, language)) / len(words)
    stray = len(_STRAY.findall(text)) / len(foreign)
    score = script_share(foreign, language.scripts) * regular * max(0.0, 1 - 3 * stray)
    if (ranges := _tables()["frequent"].get(encoding)) is not None:
        double = [lead for char in foreign if len(lead := char.encode(encoding, errors="ignore")) > 1]
        frequent = sum(1 for lead in double if any(low <= lead[0] <= high for low, high in ranges))
        score *= frequent / len(double) if double else 0.0
    else:
        signs = len(_SIGN.findall(foreign)) / len(foreign)
        score *= max(0.0, 1 - 2 * max(0.0, signs - 0.1))
    if "Jpan" in language.scripts:
        score *= min(1.0, len(_KANA.findall(foreign)) / len(foreign) / 0.15)
    return score * (0.9 if encoding != _candidates(language)[0] else 1.0)


def _one_script(word: str, language: Language) -> bool:
    return script_share(word, language.scripts) in (0.0, 1.0)
