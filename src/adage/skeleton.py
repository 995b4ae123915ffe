"""`adage languages new`: a pack to be completed by a speaker, from CLDR and, if one is at hand, a model's draft."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import regex
from babel import Locale, UnknownLocaleError
from jinja2 import Environment, StrictUndefined

from adage.engine.loop import run_async
from adage.errors import LanguageError, UnparsableReply
from adage.evaluation.candidates import check_keys, open_candidate
from adage.evaluation.roster import ModelEntry, ScriptedEntry
from adage.language import Language, derive, load, read_file
from adage.models.ask import ask, object_schema
from adage.models.base import Message
from adage.recipe import Budget
from adage.stages.generate import DOMAINS
from adage.store.files import write_atomic
from adage.store.journal import Journal
from adage.store.meter import Meter
from adage.text.scripts import script_share

_TEXT: dict[str, Any] = {"type": "string"}
_LIST: dict[str, Any] = {"type": "array", "items": _TEXT}
_SCHEMA = object_schema(
    name=_TEXT,
    unit=_LIST,
    function=_LIST,
    domains=object_schema(**dict.fromkeys(DOMAINS, _TEXT)),
    question=_TEXT,
    letter=_TEXT,
    text=_TEXT,
    generate=_TEXT,
    cue=_TEXT,
    examples=_LIST,
)
_MAX_TOKENS = 4096
"""Room for a whole draft in a script of which a letter takes several tokens."""
_SHARE = 0.8
"""Share of the letters of a draft that must be in the language's scripts."""


class Draft(msgspec.Struct, frozen=True):
    """What a model writes for a pack."""

    name: str
    unit: list[str]
    function: list[str]
    domains: dict[str, str]
    question: str
    letter: str
    text: str
    generate: str
    cue: str
    examples: list[str]


def skeleton(code: str, draft: Draft | None = None, *, by: str = "") -> str:
    """The text of a commented pack: what CLDR knows filled in, the rest explained and commented out, or drafted.

    Args:
        code: BCP 47 code of a language without a pack.
        draft: A model's proposals, which a speaker is to correct.
        by: The model's name.

    Raises:
        LanguageError: the code is unknown.
    """
    language = derive(code)
    environment = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - TOML, not HTML
    )
    environment.filters["toml"] = _toml
    template = environment.from_string(files("adage").joinpath("pack.toml.j2").read_text("utf-8"))
    return template.render(
        language=language,
        english=load("en"),
        seen=" ".join(letters_in_names(language)),
        joined=_and_or(language),
        draft=draft,
        by=by,
    )


def new_pack(code: str, file: Path, entry: ModelEntry | None = None) -> Language:
    """Write a pack to complete, drafted by the model of `entry` if there is one; returns it as it loads.

    Raises:
        LanguageError: the code is unknown, the file is there already, or the model gives no usable draft.
        ModelError: the model cannot be reached.
    """
    if file.exists():
        raise LanguageError(f"{str(file)!r} is there already", hint="name another file with --out, or edit this one")
    language = derive(code)
    draft = run_async(_drafted(language, entry, file.parent)) if entry else None
    write_atomic(file, skeleton(code, draft, by=entry.name if entry else "").encode())
    return read_file(file).language


def letters_in_names(language: Language) -> list[str]:
    """Letters of the language's scripts in CLDR's names of months, days, languages and countries, sorted."""
    try:
        locale = Locale.parse(language.code, sep="-")
    except (UnknownLocaleError, ValueError):
        return []
    counts = Counter("".join(_texts([locale.languages, locale.territories, locale.months, locale.days])).lower())
    return sorted(sign for sign in counts if script_share(sign, language.scripts) == 1)


def _texts(content: object) -> Iterator[str]:
    """All strings in nested mappings and lists."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        for name in content:
            yield from _texts(content[name])
    elif isinstance(content, list):
        for entry in content:
            yield from _texts(entry)


def _and_or(language: Language) -> list[str]:
    """What CLDR's patterns of lists put between two words: "and" and "or"."""
    try:
        patterns = Locale.parse(language.code, sep="-").list_patterns
    except (UnknownLocaleError, ValueError):
        return []
    between = (patterns[name].get("2", "") for name in ("standard", "or") if name in patterns)
    texts = (regex.sub(r"\{[01]\}|[^\p{L}\p{M}]", "", text) for text in between)
    return [text for text in dict.fromkeys(texts) if text and script_share(text, language.scripts) == 1]


def _toml(value: object) -> str:
    """A string, or a list of them, as TOML: of both, JSON is a part."""
    return json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False).replace("\x7f", "\\u007F")


async def _drafted(language: Language, entry: ModelEntry, folder: Path) -> Draft:
    """The model's draft; its reply is kept in the journal beside the pack."""
    check_keys([entry])
    with Journal(folder / ".adage" / "calls.sqlite") as journal:
        roomy = entry if isinstance(entry, ScriptedEntry) else entry.model_copy(update={"max_tokens": _MAX_TOKENS})
        candidate = open_candidate(roomy, journal, Meter(Budget()), ())
        try:
            draft, _ = await ask(
                candidate.chat, _request(language), _SCHEMA, Draft, object_to=lambda draft: _objection(draft, language)
            )
        except UnparsableReply as error:
            raise LanguageError(
                f"{entry.name!r} gave no usable draft: {error.message}",
                hint="try a larger model, or write the pack without --model and have a speaker complete it",
            ) from error
        finally:
            await candidate.chat.close()
    return msgspec.structs.replace(
        draft,
        unit=list(dict.fromkeys(filter(None, draft.unit))),
        function=list(dict.fromkeys(filter(None, draft.function))),
        domains={name: draft.domains[name] for name in DOMAINS if draft.domains.get(name)},
    )


def _request(language: Language) -> list[Message]:
    english = load("en")
    asked = english.evaluate
    domains = "\n".join(f"- {name}: {english.domains[name]}" for name in DOMAINS)
    return [
        Message(
            role="system",
            content="You draft word lists and short instructions in a language that a native speaker corrects "
            "afterwards. Answer with one JSON object. Every text is in the language itself, in its usual script, and "
            "{unit} stays as it stands.",
        ),
        Message(
            role="user",
            content=f"Language: {language.name} ({language.code}), script {', '.join(language.scripts)}.\n\n"
            "name: its word for 'proverb', as a sentence uses it.\n"
            "unit: that word, its forms, its synonyms, and phrases such as 'as the saying goes'.\n"
            "function: 80 to 150 function words: articles, pronouns, prepositions, conjunctions, particles, "
            "auxiliaries, question words, numerals up to three. No nouns or other verbs.\n"
            f"domains: names of these areas of life:\n{domains}\n"
            f"question: '{asked.questions[0]}'\nletter: '{asked.letter}'\ntext: '{asked.text}'\n"
            f"generate: '{asked.generate}'\ncue: '{asked.cue}', with its colon\n"
            "examples: 20 short ordinary sentences about daily life.",
        ),
    ]


def _objection(draft: Draft, language: Language) -> str:
    """What makes a draft unusable; everything else is the speaker's to correct."""
    for text in (draft.question, draft.letter, draft.text, draft.generate, draft.cue):
        if regex.search(r"[{}]", text.replace("{unit}", "")):
            return f"{text!r} has braces other than those of {{unit}}"
    if "{unit}" not in draft.question:
        return "question lacks {unit}"
    if not all((draft.name, draft.function, draft.letter, draft.text, draft.generate, draft.cue)):
        return "a text is empty"
    written = " ".join([draft.name, *draft.function, *draft.domains.values(), draft.question.replace("{unit}", "")])
    if script_share(written, language.scripts) < _SHARE:
        return f"the texts must be in {language.name}, in the script {', '.join(language.scripts)}"
    return ""
