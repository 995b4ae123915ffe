"""Language identification: the best identifier installed, and what its answer means for one language."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Any

from babel.core import get_global

from adage.language import Language
from adage.models.base import Guess, LanguageIdentifier
from adage.text.scripts import script_share

_UNDECIDED = Guess(language="und", confidence=0.0)
_SURE = 0.5
"""Confidence from which an answer counts against a text."""
_PROMPTS = "en"
"""Language of the prompts."""
_SLIPPED = 0.75
"""Confidence from which an answer means that the text is in that language: one mixed with it stays below."""


class Cld2:
    """Compact Language Detector 2 (package `pycld2`): 165 languages by script and character 4-grams.

    Its confidence is the share of the text in the language; less than half where it calls its own answer unreliable.
    """

    def __init__(self) -> None:
        self._cld2: Any = import_module("pycld2")
        self.id = f"pycld2-{version('pycld2')}"
        codes = dict(self._cld2.LANGUAGES)
        self._known = {primary(codes[name]) for name in self._cld2.DETECTED_LANGUAGES if name in codes}

    def supports(self, language: str) -> bool:
        """Whether the identifier can ever answer this language."""
        return primary(language) in self._known

    def identify(self, text: str) -> Guess:
        """The most likely language of the text."""
        try:
            reliable, _, details = self._cld2.detect(_printable(text), isPlainText=True, bestEffort=True)
        except self._cld2.error:
            return _UNDECIDED
        _, code, percent, _ = details[0]
        if code == "un":
            return _UNDECIDED
        return Guess(language=primary(code), confidence=round(percent / 100 * (1.0 if reliable else 0.49), 4))


class LangId:
    """langid (package `py3langid`): naive Bayes over byte n-grams; its confidence is the normalised posterior."""

    def __init__(self) -> None:
        module: Any = import_module("py3langid.langid")
        self._model = module.LanguageIdentifier.from_model_file(module.MODEL_FILE, norm_probs=True)
        self.id = f"py3langid-{version('py3langid')}"
        self._known = {primary(label) for label in self._model.labels}

    def supports(self, language: str) -> bool:
        """Whether the identifier can ever answer this language."""
        return primary(language) in self._known

    def identify(self, text: str) -> Guess:
        """The most likely language of the text."""
        if not any(character.isalpha() for character in text):
            return _UNDECIDED
        label, confidence = self._model.classify(_printable(text))
        return Guess(language=primary(label), confidence=round(float(confidence), 4))


@cache
def identifier() -> LanguageIdentifier:
    """The best identifier that is installed: pycld2, which has no wheel for some platforms, else py3langid."""
    try:
        return Cld2()
    except ImportError:
        return LangId()


def agrees(identifier: LanguageIdentifier, text: str, language: Language) -> bool | None:
    """Whether the text is in the language; None where the identifier cannot say.

    The pack's labels count as the language. Where the identifier knows none of them, a sister's name is agreement and
    any other answer is no evidence.
    """
    names = {primary(label) for label in language.identify.labels or (language.code,)}
    guess = identifier.identify(text)
    if guess.language in names:
        return True
    if any(identifier.supports(name) for name in names):
        return False if guess.confidence >= _SURE else None
    return True if guess.language in {primary(sister) for sister in language.identify.sisters} else None


def slip_check(identifier: LanguageIdentifier, language: Language) -> Callable[[str], bool] | None:
    """A check whether a text is clearly in the language of the prompts, into which models slip, instead of `language`.

    None where it would say nothing: the script tells, the language is that of the prompts, or the identifier does not
    know it (and takes a creole for the language that it comes from).
    """
    names = {primary(label) for label in language.identify.labels or (language.code,)}
    close = names | {primary(sister) for sister in language.identify.sisters}
    if not script_share(_PROMPTS, language.scripts) or _PROMPTS in close or not any(map(identifier.supports, names)):
        return None

    def slipped(text: str) -> bool:
        guess = identifier.identify(text)
        return guess.language == _PROMPTS and guess.confidence >= _SLIPPED

    return slipped


def primary(code: str) -> str:
    """Primary language of a BCP 47 code, in its present spelling.

    >>> primary("zh-Hant"), primary("iw")
    ('zh', 'he')
    """
    bare = code.replace("_", "-").split("-")[0].lower()
    return str(get_global("language_aliases").get(bare, bare)).split("_")[0]


def _printable(text: str) -> str:
    """The text with spaces for control characters, surrogates and unassigned code points, which CLD2 refuses."""
    return "".join(" " if unicodedata.category(character) in {"Cc", "Cs", "Cn"} else character for character in text)
