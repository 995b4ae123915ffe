"""`languages new`: a pack that loads, says what CLDR knows, and is drafted where a model is at hand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adage.errors import LanguageError
from adage.evaluation.roster import EndpointEntry
from adage.language import derive, read_file
from adage.packs import check
from adage.skeleton import new_pack, skeleton
from adage.stages.generate import DOMAINS
from endpoint import FakeEndpoint

DRAFT: dict[str, Any] = {
    "name": "ანდაზა",
    "unit": ["ანდაზა*", "ანდაზა*", "როგორც იტყვიან"],
    "function": ["და", "ან", "მაგრამ", "და", "რომ", ""],
    "domains": {name: f"ცხოვრება {i}" for i, name in enumerate(DOMAINS)},
    "question": "რომელი {unit} უხდება ამბავს?",
    "letter": "უპასუხე მხოლოდ ასოთი.",
    "text": "დაწერე მხოლოდ {unit}.",
    "generate": "იფიქრე და ბოლოს დაწერე პასუხი.",
    "cue": "პასუხი: ",
    "examples": ["დღეს ბაზარში წავედი.", "წიგნი მაგიდაზეა."],
}


class Drafter:
    """An endpoint in a thread of its own that gives one answer."""

    def __init__(self, answers: list[dict[str, Any]]) -> None:
        self._answers = iter(answers)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.endpoint = FakeEndpoint(lambda _: json.dumps(next(self._answers), ensure_ascii=False))
        asyncio.run_coroutine_threadsafe(self.endpoint.start(), self._loop).result()

    @property
    def entry(self) -> EndpointEntry:
        """The endpoint as a model of a roster."""
        return EndpointEntry(name="drafter", base_url=self.endpoint.url, model="fake", retries=0)

    def stop(self) -> None:
        """Stop endpoint and loop."""
        asyncio.run_coroutine_threadsafe(self.endpoint.stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


@pytest.fixture
def drafters() -> Iterator[list[Drafter]]:
    """Endpoints to be stopped at the end."""
    made: list[Drafter] = []
    yield made
    for drafter in made:
        drafter.stop()


@pytest.mark.parametrize("code", ["ka", "zgh", "ta", "bo", "lo", "ckb", "uz-Cyrl", "nv", "gsw"])
def test_a_new_pack_loads_and_holds(tmp_path: Path, code: str) -> None:
    """What is written says no more and no less than what is derived, but for the sureness."""
    file = tmp_path / f"{code}.toml"
    pack = new_pack(code, file)
    derived = derive(code)
    for fact in ("code", "name", "native_name", "scripts", "direction", "joiners", "digits", "length", "letters"):
        assert getattr(pack, fact) == getattr(derived, fact)
    assert (pack.key, pack.segment, pack.sureness) == (derived.key, derived.segment, "draft")
    assert check(str(file))[0].faults == []


def test_a_new_pack_shows_the_letters_and_words_that_cldr_has() -> None:
    """A speaker sees letters to choose option letters from, and the words for "and" and "or"."""
    text = skeleton("ka")
    assert "ა ბ გ დ ე ვ ზ თ" in text
    assert "# CLDR knows: და, ან" in text
    assert "DRAFT" not in text


def test_a_file_is_never_overwritten(tmp_path: Path) -> None:
    """What a speaker has written stays."""
    file = tmp_path / "ka.toml"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(LanguageError, match="there already"):
        new_pack("ka", file)
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_model_drafts_what_cldr_lacks(tmp_path: Path, drafters: list[Drafter]) -> None:
    """A draft is marked as one, without doubles, loads and holds; the reply stays in the journal."""
    drafters.append(Drafter([DRAFT]))
    file = tmp_path / "ka.toml"
    pack = new_pack("ka", file, drafters[0].entry)
    text = file.read_text(encoding="utf-8")
    assert "# DRAFT" in text
    assert text.count("# drafted by drafter") == 4
    assert pack.words.function == ("და", "ან", "მაგრამ", "რომ")
    assert pack.evaluate.questions == ("რომელი {unit} უხდება ამბავს?",)
    assert set(pack.domains) == set(DOMAINS)
    assert read_file(file).examples.identify == tuple(DRAFT["examples"])
    assert check(str(file))[0].faults == []
    assert (tmp_path / ".adage" / "calls.sqlite").exists()


def test_a_draft_in_another_language_is_asked_for_again(tmp_path: Path, drafters: list[Drafter]) -> None:
    """The model is shown what is wrong once; a draft that stays wrong is no pack."""
    english = DRAFT | {"function": ["and", "or", "but", "the", "with", "without", "because", "although"] * 9}
    drafters.append(Drafter([english, DRAFT]))
    assert new_pack("ka", tmp_path / "ka.toml", drafters[0].entry).words.name == "ანდაზა"
    assert drafters[0].endpoint.calls == 2
    drafters.append(Drafter([DRAFT | {"question": "რომელი?"}] * 2))
    with pytest.raises(LanguageError, match="no usable draft: question lacks"):
        new_pack("ka", tmp_path / "other.toml", drafters[1].entry)
    assert not (tmp_path / "other.toml").exists()
