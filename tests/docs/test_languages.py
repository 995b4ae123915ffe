"""The tables of docs/languages.md: measured, and fresh; `ADAGE_UPDATE_DOCS=1 pytest tests/docs` writes them anew."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adage.language import available, load, shipped
from adage.models.base import LanguageIdentifier
from adage.models.lid import Cld2, LangId, agrees
from adage.packs import facts
from adage.text.leakage import leak

for package in ("pycld2", "fugashi", "unidic_lite"):
    pytest.importorskip(package, reason="the tables are made with all extras")

PAGE = Path(__file__).parents[2] / "docs" / "languages.md"
LEAKS = Path(__file__).parents[1] / "text" / "leaks"
FULL = ("ar", "am", "ja", "en")
IDENTIFIERS = (Cld2(), LangId())
LEAST = {"ar": (0.85, 0.65), "am": (0.75, 0.7), "ja": (0.8, 0.9), "en": (0.85, 0.9)}
"""Language → recall that the leakage check must reach on the first pairs and on the fresh ones."""


def table(header: str, rows: list[list[object]]) -> str:
    """A Markdown table; `header` is its first line without outer bars."""
    lines = [f"| {header} |", "|" + "---|" * (header.count("|") + 1)]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def packs() -> str:
    """What each pack has."""
    rows: list[list[object]] = []
    for code in available():
        found = facts(code)
        forms = [f"Snowball {found.stemmer}"] if found.stemmer else []
        forms += ["lemmas of UniDic"] if found.words == "fugashi" else []
        forms += [f"{found.affixes} affixes"] if found.affixes else []
        forms += [f"{found.irregular_forms} irregular"] if found.irregular_forms else []
        prompts = [*found.prompts, *(["evaluate"] if found.evaluate else [])]
        row: list[object] = [code, found.name, ", ".join(found.scripts), found.sureness, found.words]
        row += [", ".join(forms) or "n-grams", found.folds, found.function_words, ", ".join(prompts)]
        rows.append(row)
    return table("code | name | script | sureness | words | forms by | folds | function words | prompts", rows)


def identification() -> str:
    """How each identifier judges the sentences of each pack."""
    rows: list[list[object]] = []
    totals: Counter[tuple[int, bool | None]] = Counter()
    for code in available():
        texts, row = shipped(code).examples.identify, []
        for place, identify in enumerate(IDENTIFIERS):
            found = Counter(agrees(identify, text, load(code)) for text in texts)
            knows = any(identify.supports(label) for label in load(code).identify.labels)
            totals.update({(place, verdict): count for verdict, count in found.items() if knows})
            row += [found[True], found[False], found[None]] if knows else ["not supported", "", ""]
        rows.append([code, len(texts), *row])
    rows.append(
        ["all", sum(int(str(row[1])) for row in rows)]
        + [totals[place, verdict] for place in (0, 1) for verdict in (True, False, None)]
    )
    return table("code | sentences | pycld2 right | wrong | unsure | py3langid right | wrong | unsure", rows)


def ethiopic() -> str:
    """Amharic and Tigrinya, told apart."""
    rows: list[list[object]] = []
    for identify in IDENTIFIERS:
        for part, cut in (("whole", None), ("two words", 2)):
            for code in ("am", "ti"):
                texts = [" ".join(text.split()[:cut]) for text in shipped(code).examples.identify]
                rows.append([identify.id.partition("-")[0], part, code, *answers(identify, texts, code)])
    return table("identifier | text | in | sentences | am | ti | other | accuracy", rows)


def answers(identify: LanguageIdentifier, texts: list[str], code: str) -> list[object]:
    """How many texts, which languages they are taken for, and the share of right answers."""
    found = Counter(identify.identify(text).language for text in texts)
    other = len(texts) - found["am"] - found["ti"]
    return [len(texts), found["am"], found["ti"], other, f"{found[code] / len(texts):.2f}"]


def verdicts(code: str, part: str) -> Counter[tuple[bool, str]]:
    """(whether it is a leak, verdict) → how many pairs of that set."""
    pack = load(code)
    lines = (LEAKS / f"{code}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["set"] == part]
    return Counter((row["leak"], leak(row["scenario"], row["proverb"], pack).verdict) for row in rows)


def rates(found: Counter[tuple[bool, str]]) -> tuple[float, float]:
    """Precision and recall of being dropped or flagged."""
    hits = {is_leak: found[is_leak, "drop"] + found[is_leak, "flag"] for is_leak in (True, False)}
    return hits[True] / (hits[True] + hits[False]), hits[True] / (hits[True] + found[True, "none"])


def leaks() -> str:
    """Precision and recall of the leakage check."""
    rows: list[list[object]] = []
    for code in FULL:
        for part in ("first", "fresh"):
            found = verdicts(code, part)
            precision, recall = rates(found)
            positive = sum(count for (is_leak, _), count in found.items() if is_leak)
            row: list[object] = [code, part, positive, found[True, "drop"], found[True, "flag"]]
            row += [found.total() - positive, found[False, "drop"], found[False, "flag"]]
            rows.append([*row, f"{precision:.3f}", f"{recall:.3f}"])
    return table("code | set | leaks | dropped | flagged | others | dropped | flagged | precision | recall", rows)


MAKERS: dict[str, Callable[[], str]] = {
    "packs": packs, "identification": identification, "ethiopic": ethiopic, "leaks": leaks,
}  # fmt: skip


@pytest.mark.parametrize("name", MAKERS)
def test_tables_are_fresh(name: str) -> None:
    """The page shows what the packs, identifiers and the leakage check do now."""
    page = PAGE.read_text("utf-8")
    made = re.sub(
        rf"<!-- table: {name} -->\n.*?<!-- end -->",
        lambda _: f"<!-- table: {name} -->\n\n{MAKERS[name]()}\n\n<!-- end -->",
        page,
        flags=re.DOTALL,
    )
    if os.environ.get("ADAGE_UPDATE_DOCS"):
        PAGE.write_text(made, "utf-8")
        page = made
    assert page == made, "docs/languages.md is stale: ADAGE_UPDATE_DOCS=1 pytest tests/docs"


def test_every_table_has_a_maker() -> None:
    """No table of the page is written by hand."""
    assert set(re.findall(r"<!-- table: (\w+) -->", PAGE.read_text("utf-8"))) == set(MAKERS)


@pytest.mark.parametrize("code", FULL)
def test_leaks_are_found_and_nothing_else(code: str) -> None:
    """At least 60 pairs of each kind were made by hand; precision and recall do not fall."""
    first = verdicts(code, "first")
    for is_leak in (True, False):
        assert sum(first[is_leak, verdict] for verdict in ("drop", "flag", "none")) >= 60
    for part, least in zip(("first", "fresh"), LEAST[code], strict=True):
        precision, recall = rates(verdicts(code, part))
        assert precision >= 0.95 if part == "first" else precision >= 0.85
        assert recall >= least


def test_pairs_are_distinct() -> None:
    """No pair is counted twice."""
    for code in FULL:
        pairs = list(read_pairs(code))
        assert len(set(pairs)) == len(pairs)


def read_pairs(code: str) -> Iterator[tuple[str, str]]:
    """The pairs of a language."""
    for line in (LEAKS / f"{code}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        yield row["proverb"], row["scenario"]


def test_amharic_and_tigrinya_are_told_apart() -> None:
    """The identifier that is in use names at least 19 of 20 short sentences of either rightly."""
    for code in ("am", "ti"):
        texts = list(shipped(code).examples.identify)
        assert len(texts) >= 40
        assert sum(IDENTIFIERS[0].identify(text).language == code for text in texts) >= 0.95 * len(texts)
