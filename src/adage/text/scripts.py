"""Writing systems: which script a text is in, by the Unicode property Script_Extensions and ISO 15924 codes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import regex
from babel import Locale

from adage.errors import LanguageError

COMPOUND = {
    "Hanb": ("Hani", "Bopo"),
    "Hans": ("Hani",),
    "Hant": ("Hani",),
    "Hrkt": ("Hira", "Kana"),
    "Jpan": ("Hani", "Hira", "Kana"),
    "Kore": ("Hang", "Hani"),
    "Aran": ("Arab",),
    "Cyrs": ("Cyrl",),
    "Geok": ("Geor",),
    "Latf": ("Latn",),
    "Latg": ("Latn",),
    "Syre": ("Syrc",),
    "Syrj": ("Syrc",),
    "Syrn": ("Syrc",),
}
"""ISO 15924 codes that Unicode has no Script value for → those it consists of."""

RIGHT_TO_LEFT = frozenset(
    [
        "Adlm",
        "Arab",
        "Aran",
        "Hebr",
        "Mand",
        "Mend",
        "Nkoo",
        "Rohg",
        "Samr",
        "Syrc",
        "Syre",
        "Syrj",
        "Syrn",
        "Thaa",
        "Yezi",
    ]
)
"""Living scripts that are written from right to left."""

IDEOGRAPHIC = frozenset(["Hanb", "Hani", "Hans", "Hant", "Jpan"])
"""Scripts in which a character is mostly a word or a part of one."""

UNSPACED = IDEOGRAPHIC | {"Khmr", "Lana", "Laoo", "Mymr", "Thai", "Tibt", "Yiii"}
"""Scripts whose writers put no spaces between words."""

JOINED = frozenset(["Arab", "Beng", "Deva", "Gujr", "Guru", "Knda", "Mlym", "Orya", "Sinh", "Taml", "Telu"])
"""Scripts in which ZWNJ and ZWJ change what is written (in Arabic script: outside Arabic itself)."""

# A whole phrase in one code point (U+FDF2 Allah, U+FDFA the blessing) is a letter to Unicode and a symbol to readers.
_NO_LETTERS = regex.compile(r"[\P{L}\uFDF0-\uFDFF]+", regex.VERSION1)
_NEUTRAL = r"[\p{scx=Zyyy}\p{scx=Zinh}]"


def letters(text: str) -> str:
    """The letters of a text, without marks, digits, signs, and the Arabic word ligatures such as ﷺ.

    >>> letters("صلّى ﷺ 3 a-b")
    'صلىab'
    """
    return text if text.isascii() and text.isalpha() else _NO_LETTERS.sub("", text)


def script_class(scripts: Iterable[str]) -> str:
    r"""The inside of a `regex` character class that holds the characters of ISO 15924 scripts.

    >>> print(script_class(["Hrkt"]))
    \p{scx=Hira}\p{scx=Kana}

    Raises:
        LanguageError: A code is not a script that Unicode knows.
    """
    parts = [part for script in scripts for part in COMPOUND.get(script, (script,))]
    known = _unicode_scripts()
    for part in parts:
        if part not in known:
            raise LanguageError(
                f"{part!r} is not a script that Unicode knows", hint="expected ISO 15924, such as 'Ethi'"
            )
    return "".join(rf"\p{{scx={part}}}" for part in dict.fromkeys(parts))


def script_share(text: str, scripts: Iterable[str]) -> float:
    """Share of the letters of `text` that belong to one of `scripts`; 0 for a text without letters.

    Letters that no script owns (ª, ʼ) are left out of the count; letters several scripts share (ー) count for each.

    >>> script_share("カレー and 🍛", ["Jpan"])
    0.5
    """
    own, neutral = _classes(tuple(scripts))
    if text.isascii():  # whose letters are all Latin
        return float(text.lower() != text.upper() and own.match("a", concurrent=False) is not None)
    found = letters(text)
    counted = len(found) - sum(map(len, neutral.findall(found)))
    return sum(map(len, own.findall(found))) / counted if counted else 0.0


def main_script(text: str) -> str:
    """ISO 15924 code of the script that most letters of `text` are in, `Zyyy` where there is none.

    >>> main_script("ሰላም ok")
    'Ethi'
    """
    counts: dict[str, int] = {}
    for run in _any_script().finditer(letters(text)):
        script = run.lastgroup or "Zyyy"
        counts[script] = counts.get(script, 0) + len(run.group())
    return max(counts, key=lambda script: counts[script], default="Zyyy")


@lru_cache
def _classes(scripts: tuple[str, ...]) -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    """Patterns of a run of letters of the scripts, and of a run of letters that no script owns."""
    own = script_class(scripts)
    return regex.compile(f"[{own}]+" if own else "(?!)"), regex.compile(f"{_NEUTRAL}+")


@lru_cache(maxsize=1)
def _unicode_scripts() -> tuple[str, ...]:
    """ISO 15924 codes that are values of the Unicode property Script."""
    found: list[str] = []
    for code in map(str, Locale("en").scripts):
        try:
            regex.compile(rf"\p{{sc={code}}}")
        except regex.error:
            continue
        found.append(code)
    return tuple(found)


@lru_cache(maxsize=1)
def _any_script() -> regex.Pattern[str]:
    """A run of letters of one script, in a group named by the script."""
    own = [code for code in _unicode_scripts() if code not in {"Zyyy", "Zinh", "Zzzz"}]
    return regex.compile("|".join(rf"(?P<{code}>\p{{sc={code}}}+)" for code in own))
