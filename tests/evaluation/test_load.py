"""Benchmarks load from wherever people keep them, ours and foreign ones, or say clearly why they do not."""

from __future__ import annotations

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adage.errors import AdageError, BenchmarkError, LanguageError, VerificationError
from adage.evaluation.load import load_benchmark, load_benchmarks, remarks
from adage.evaluation.result import Benchmark, Question
from adage.export.benchmark import ITEMS, item_row, parquet
from adage.records import Item, Manifest, Split
from adage.store.files import hash_file, pretty
from material import item, proverb

SHARED = Path(__file__).parents[3] / "shared" / "corpora" / "en"
CANARY = "00000000-0000-4000-8000-000000000000"
POOL = [proverb(f"Proverb {n}", explanation=f"Lesson {n}") for n in range(6)]
ROWS = [
    {"scenario": "A story of one.", "choices": ["x", "y", "z"], "answer": 2},
    {"scenario": "A story of two.", "choices": ["y", "z", "w"], "answer": 0},
]


def items(assembly: str = "balanced", split: Split = "test", n: int = 4) -> list[Item]:
    """Items of our own, each with another gold."""
    return [
        item(f"Story {k} {split}.", POOL[k], [POOL[(k + j) % 6] for j in (1, 2, 3)], assembly=assembly, split=split)
        for k in range(n)
    ]


def publish(
    folder: Path, made: list[Item], *, language: str = "en", drop: tuple[str, ...] = (), **manifest: Any
) -> Path:
    """A benchmark folder as the export writes it, without card and explanations."""
    files: dict[str, str] = {}
    counts: dict[str, dict[str, int]] = {}
    for assembly, split in sorted({(one.assembly, one.split or "") for one in made}):
        rows = [
            item_row(one, CANARY, texts=manifest.get("texts", True))
            for one in made
            if (one.assembly, one.split) == (assembly, split)
        ]
        path = folder / assembly / f"{split}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(parquet(rows, ITEMS))
        if drop:
            pq.write_table(pq.read_table(path).drop_columns(list(drop)), path)
        files[f"{assembly}/{split}.parquet"] = hash_file(path)
        counts.setdefault(assembly, {})[split] = len(rows)
    fields = {
        "name": "CAPR-x", "release": "1", "released": "", "language": language, "canary": CANARY, "texts": True,
        "redistribute": True, "recipe": "0", "items": counts, "files": files, **manifest,
    }  # fmt: skip
    (folder / "manifest.json").write_bytes(pretty(msgspec.convert(fields, Manifest)))
    return folder


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Records as JSON Lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def test_our_folder_gives_what_was_published(tmp_path: Path) -> None:
    """Every field of a question is the item's, and the benchmark is what the manifest says."""
    made = [msgspec.structs.replace(one, equivalent=f"e{k}") for k, one in enumerate(items())]
    folder = publish(tmp_path / "benchmark", made, encoder="e5:", unit="idiom")
    found = load_benchmark(folder)
    assert (found.name, found.language, found.assembly, found.encoder) == ("CAPR-x", "en", "balanced", "e5:")
    assert (found.unit, found.redistribute, found.chance) == ("idiom", True, 0.25)
    by_id = {one.id: one for one in made}
    assert by_id.keys() == {question.id for question in found.questions}
    for question in found.questions:
        of = by_id[question.id]
        assert question == Question(
            id=of.id,
            scenario=of.scenario,
            options=tuple(option.text for option in of.options),
            gold=(of.answer,),
            group=of.group,
            names=tuple(option.proverb_id for option in of.options),
            roles=tuple(option.role for option in of.options),
            clusters=tuple(option.cluster for option in of.options),
            cos_scenario=tuple(option.cos_scenario for option in of.options),
            equivalent=of.equivalent,
            split="test",
        )


@pytest.mark.parametrize(
    "named", ["benchmark", "..", "../recipe.yaml", ".", "benchmark/balanced/test.parquet", "../.."]
)
def test_our_folder_is_found_from_what_people_name(tmp_path: Path, named: str) -> None:
    """The folder itself, one of its tables, the run, the recipe or the recipes' folder: all lead to it."""
    run = tmp_path / "all" / "mine" / "run"
    publish(run / "benchmark", items())
    (run.parent / "recipe.yaml").write_text("version: 1\n", "utf-8")
    assert len(load_benchmark(run / named).questions) == 4


def test_a_folder_from_before_lessons_loads(tmp_path: Path) -> None:
    """The column `equivalent` and the manifest's newer fields may be missing."""
    folder = publish(tmp_path, items(), drop=("equivalent",))
    plain = json.loads((folder / "manifest.json").read_bytes())
    (folder / "manifest.json").write_text(json.dumps({k: v for k, v in plain.items() if k not in {"unit", "encoder"}}))
    found = load_benchmark(folder)
    assert {question.equivalent for question in found.questions} == {""}
    assert (found.unit, found.encoder) == ("", "")


def test_assembly_and_split_are_chosen(tmp_path: Path) -> None:
    """Balanced and test by default, others by name, each or all; what is not there is listed."""
    made = [*items(), *items("paper"), *items(split="dev", n=2)]
    folder = publish(tmp_path / "benchmark", made)
    assert load_benchmark(folder, assembly="paper").assembly == "paper"
    assert {question.split for question in load_benchmark(folder, split="dev").questions} == {"dev"}
    assert len(load_benchmark(folder, split="all").questions) == 6
    assert [one.assembly for one in load_benchmarks(folder, assembly="all")] == ["balanced", "paper"]
    with pytest.raises(BenchmarkError, match=r"no split 'train'; it has: .*'dev'"):
        load_benchmark(folder, split="train")
    with pytest.raises(BenchmarkError, match="no assembly 'other'"):
        load_benchmark(folder, assembly="other")


def test_several_benchmarks_are_told_apart_by_language(tmp_path: Path) -> None:
    """A folder of several is loaded whole, or one of them by its language; naming none of many is an error."""
    for code in ("ar", "ja"):
        publish(tmp_path / code / "run" / "benchmark", items(), language=code)
    assert [one.language for one in load_benchmarks(tmp_path)] == ["ar", "ja"]
    assert load_benchmark(tmp_path, language="ja").language == "ja"
    with pytest.raises(BenchmarkError, match="holds 2 benchmarks"):
        load_benchmark(tmp_path)
    with pytest.raises(BenchmarkError, match="no benchmark in 'am'"):
        load_benchmark(tmp_path, language="am")


def test_an_edited_table_is_refused(tmp_path: Path) -> None:
    """A file whose hash is not the manifest's is not asked."""
    folder = publish(tmp_path, items())
    other = publish(tmp_path / "other", items(n=3))
    (folder / "balanced" / "test.parquet").write_bytes((other / "balanced" / "test.parquet").read_bytes())
    with pytest.raises(VerificationError, match="manifest says"):
        load_benchmark(folder, format="adage")


def test_a_release_without_texts_says_so(tmp_path: Path) -> None:
    """Ids and hashes alone cannot be asked."""
    publish(tmp_path / "run" / "release", items(), texts=False)
    with pytest.raises(BenchmarkError, match="ids and hashes only"):
        load_benchmark(tmp_path / "run")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {}}, "lists no 'balanced/test.parquet'"),
        ({"items": {"../../x": {"test": 1}}, "files": {"../../x/test.parquet": "0"}}, "lists no"),
        ({"items": {"balanced": {}}}, "has several"),
    ],
)
def test_a_manifest_cannot_lead_astray(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Only files inside the folder that the manifest lists are opened."""
    folder = publish(tmp_path / "benchmark", items(), **change)
    with pytest.raises(BenchmarkError, match=message):
        load_benchmark(folder)


def test_bigbench_tasks_and_their_canary(tmp_path: Path) -> None:
    """Several right options are kept, and nothing of the task but input and options travels."""
    task = {
        "canary": "canary GUID 1234",
        "name": "proverbs",
        "examples": [
            {"input": "A story.", "target_scores": {"x": 0, "y": 1, "z": 1}, "comment": "canary GUID 1234"},
            {"input": "Another.", "target_scores": {"x": 1, "w": 0}},
            {"input": "A third.", "target_scores": {"z": 1, "w": 0}},
        ],
    }
    file = tmp_path / "story_proverbs" / "task.json"
    file.parent.mkdir()
    file.write_text(json.dumps(task), "utf-8")
    for path in (file, file.parent, tmp_path):
        found = load_benchmark(path)
        assert (found.name, found.language, found.redistribute) == ("story_proverbs", "en", False)
        assert [question.gold for question in found.questions] == [(1, 2), (0,), (0,)]
    groups = [question.group for question in found.questions]
    assert groups[0] == groups[2] != groups[1]
    assert found.chance == pytest.approx((2 / 3 + 1 / 2 + 1 / 2) / 3)
    assert b"GUID" not in msgspec.json.encode(found)
    assert remarks(found) == [
        "1 of 3 questions have more than one right option; any of them counts",
        "questions have from 2 to 3 options",
    ]


@pytest.mark.parametrize("scores", [{"x": 0, "y": 0}, {"x": "yes", "y": 0}])
def test_a_bigbench_example_without_a_right_option_is_named(tmp_path: Path, scores: dict[str, Any]) -> None:
    """The message holds the file, the number of the example and the scores."""
    (tmp_path / "task.json").write_text(json.dumps({"examples": [{"input": "A.", "target_scores": scores}]}), "utf-8")
    with pytest.raises(BenchmarkError, match=r"task\.json#1: 'target_scores' are"):
        load_benchmark(tmp_path)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared BIG-bench tasks are not here")
@pytest.mark.parametrize(
    ("task", "n", "options", "several", "groups"),
    [
        ("english_proverbs", 34, {3, 4, 5, 6}, 6, 34),
        ("abstract_narrative_understanding", 1000, {5}, 0, 100),
        ("swahili_english_proverbs", 153, {4}, 0, 130),
    ],
)
def test_the_real_bigbench_tasks(task: str, n: int, options: set[int], several: int, groups: int) -> None:
    """All of BIG-bench's proverb tasks load, with their sizes, and without their canary."""
    found = load_benchmark(SHARED / task)
    assert len(found.questions) == n
    assert {len(question.options) for question in found.questions} <= options
    assert sum(len(question.gold) > 1 for question in found.questions) == several
    assert len({question.group for question in found.questions}) == groups
    assert len({question.id for question in found.questions}) == n
    assert b"canary" not in msgspec.json.encode(found)
    first = "the right option stands first in every question of the file: only rotated or shuffled orders count"
    assert (first in remarks(found)) == task.startswith("swahili")


def test_epic_gets_options_that_stay_the_same(tmp_path: Path) -> None:
    """Each narrative has its proverb and three others; CSV and the published JSON give the same questions."""
    pairs = [(f"Narrative {n} of someone.", f"Proverb {n % 7}") for n in range(21)]
    published = [{"pk": n, "fields": {"narrative": text, "quote": quote}} for n, (text, quote) in enumerate(pairs)]
    (tmp_path / "full_dataset.json").write_text(json.dumps(published), "utf-8")
    lines = "".join(f'"{text}",{quote}\n' for text, quote in pairs)
    (tmp_path / "epic.csv").write_text(f"Narrative,Proverb\n{lines}", "utf-8")
    found = load_benchmark(tmp_path / "full_dataset.json")
    again = load_benchmark(tmp_path / "epic.csv", format="epic")
    assert found.questions == again.questions
    assert not found.redistribute
    for question, (text, quote) in zip(found.questions, pairs, strict=True):
        assert (question.scenario, question.options[question.gold[0]]) == (text, quote)
        assert len(set(question.options)) == 4
    assert len({question.group for question in found.questions}) == 7
    assert {question.gold[0] for question in found.questions} == {0, 1, 2, 3}


def test_epic_needs_proverbs_to_choose_from(tmp_path: Path) -> None:
    """Fewer proverbs than options, or a record of another kind, is an error with its place."""
    write(tmp_path / "few.jsonl", [{"narrative": "A.", "proverb": f"P{n}"} for n in range(3)])
    with pytest.raises(BenchmarkError, match="3 proverbs are too few"):
        load_benchmark(tmp_path / "few.jsonl")
    write(tmp_path / "other.jsonl", [{"story": "A."}])
    with pytest.raises(BenchmarkError, match=r"other\.jsonl:1: expected a narrative"):
        load_benchmark(tmp_path / "other.jsonl", format="epic")


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv", ".parquet"])
def test_a_table_of_any_format_gives_the_same_questions(tmp_path: Path, suffix: str) -> None:
    """Texts in any script, commas and line breaks in cells included."""
    rows = [
        {"scenario": "قصة، قصيرة", "A": "الصبر", "B": "يد, واحدة", "C": "猿も", "answer": "B"},
        {"scenario": "two\nlines", "A": "x", "B": "y", "C": "", "answer": "A"},
    ]
    file = tmp_path / f"mine{suffix}"
    if suffix == ".jsonl":
        write(file, rows)
    elif suffix == ".json":
        file.write_text(json.dumps(rows), "utf-8")
    elif suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    else:
        mark = "," if suffix == ".csv" else "\t"
        quoted = [mark.join('"' + str(cell) + '"' for cell in row.values()) for row in rows]
        file.write_text("\ufeff" + "\r\n".join([mark.join(rows[0]), *quoted]) + "\r\n", "utf-8")
    found = load_benchmark(file, language="ar")
    assert (found.name, found.language) == ("mine", "ar")
    assert [(question.scenario, question.options, question.gold) for question in found.questions] == [
        ("قصة، قصيرة", ("الصبر", "يد, واحدة", "猿も"), (1,)),
        ("two\nlines", ("x", "y"), (0,)),
    ]


def test_a_hugging_face_layout_gives_languages_and_splits(tmp_path: Path) -> None:
    """A folder by language, a file by split; `validation` is dev; a README and hidden files are passed over."""
    for code in ("ar", "ja"):
        for split in ("train", "validation", "test"):
            write(tmp_path / "capr" / "data" / code / f"{split}-00000-of-00001.jsonl", ROWS)
    (tmp_path / "capr" / "README.md").write_text("---\n", "utf-8")
    write(tmp_path / "capr" / ".cache" / "x.jsonl", [{"a": 1}])
    found = load_benchmarks(tmp_path / "capr")
    assert [(one.name, one.language, len(one.questions)) for one in found] == [
        ("capr/ar", "ar", 2),
        ("capr/ja", "ja", 2),
    ]
    assert {question.split for one in found for question in one.questions} == {"test"}
    dev = load_benchmark(tmp_path / "capr", language="ja", split="validation")
    assert {question.split for question in dev.questions} == {"dev"}


def test_columns_of_language_and_split_are_heeded(tmp_path: Path) -> None:
    """Rows go to the benchmark of their language, given by code or by name, and the split is chosen among theirs."""
    tongues = [("ar", "test"), ("Arabic", "dev"), ("ja", "test"), ("ar", "test")]
    rows = [ROWS[n % 2] | {"language": code, "split": split, "id": n} for n, (code, split) in enumerate(tongues)]
    file = write(tmp_path / "all.jsonl", rows)
    assert [(one.language, len(one.questions)) for one in load_benchmarks(file)] == [("ar", 2), ("ja", 1)]
    assert [question.id for question in load_benchmark(file, language="ar", split="all").questions] == ["0", "1", "3"]
    with pytest.raises(BenchmarkError, match="no benchmark in 'am'") as told:
        load_benchmark(file, language="am")
    assert told.value.hint == "it has: ar, ja"
    write(file, [ROWS[0], ROWS[1] | {"language": "Klingonese"}])
    with pytest.raises(BenchmarkError, match=r"all\.jsonl:2: 'klingonese' is not a language code"):
        load_benchmark(file, language="am")


def test_a_plain_table_has_neither_assembly_nor_split(tmp_path: Path) -> None:
    """Asked beside benchmarks that have them, it is asked whole."""
    file = write(tmp_path / "plain.jsonl", ROWS)
    assert len(load_benchmark(file, language="sw", assembly="paper", split="dev").questions) == 2


def test_equal_questions_stay_and_are_told(tmp_path: Path) -> None:
    """Nothing is thrown away: repeated questions and ids are kept apart by number."""
    found = load_benchmark(write(tmp_path / "q.jsonl", [ROWS[0], ROWS[0], ROWS[1] | {"id": "a"}]), language="en")
    assert len({question.id for question in found.questions}) == 3
    assert remarks(found) == ["1 of 3 questions repeat an earlier one word for word"]
    same = load_benchmark(write(tmp_path / "r.jsonl", [row | {"id": "a"} for row in ROWS]), language="en")
    assert [question.id for question in same.questions] == ["a", "a#2"]


def test_what_is_odd_in_the_options_is_told() -> None:
    """A reader learns that the key is always at one place and that options repeat."""
    questions = tuple(
        Question(id=str(n), scenario=f"{n}", options=("x", "x", "y"), gold=(2,), group="g") for n in range(2)
    )
    found = remarks(Benchmark(name="n", language="en", questions=questions))
    assert any("at place 3 in every question" in remark for remark in found)
    assert "2 of 2 questions show the same option twice" in found


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b'{"scenario": "A."', r"x\.jsonl:1: not JSON"),
        ("x.jsonl", b"[1]\n", r"x\.jsonl:1: expected an object"),
        ("x.jsonl", b"\n\n", "holds no benchmark"),
        ("x.json", b'{"a": 1}', "holds no list of records"),
        ("x.json", b"[" * 100_000, "not JSON"),
        ("x.csv", b"scenario,A,B,answer\na,b,c,d,e\n", r"x\.csv:2: 5 cells"),
        ("x.csv", b"A,A\n1,2\n", "stands twice"),
        ("x.csv", b"scenario,A\n\xff,b\n", r"x\.csv:2: not UTF-8"),
        ("x.csv", b"a,b\n" + b"x" * 200_000 + b",1\n", r"x\.csv:\d: not a sound table"),
        ("x.parquet", b"PAR1 and nothing", "no sound Parquet"),
        ("x.jsonl", b"version https://git-lfs.github.com/spec/v1\n", "Git LFS pointer"),
        ("x.txt", b"a proverb", "format that is not read"),
        ("x.jsonl", b'{"scenario": "A."}\n', "no column for the options"),
        ("x.jsonl", b'{"scenario": "", "choices": ["x", "y"], "answer": 0}\n', r":1: the question has no text"),
        ("x.jsonl", b'{"scenario": "A.", "choices": ["x"], "answer": 0}\n', "two options or more"),
        ("x.jsonl", b'{"scenario": "A.", "choices": 7, "answer": 0}\n', "expected a list of options, found '7'"),
        ("x.jsonl", b'{"scenario": "A.", "choices": ["x", "y"], "answer": 0, "roles": ["gold"]}\n', "1 roles"),
    ],
)  # fmt: skip
def test_unsound_files_are_named_with_their_place(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    """Whatever is wrong with a file, the error is ours and says where and what."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BenchmarkError, match=message):
        load_benchmark(tmp_path / name, language="en", format="table")


def test_hostile_texts_are_tamed(tmp_path: Path) -> None:
    """Controls and bidi overrides go; text that looks like code stays text."""
    row = {"scenario": "A\x1b[31m \u202estory\u0000.", "choices": "['__import__(\"os\")', 'y']", "answer": "B"}
    found = load_benchmark(write(tmp_path / "x.jsonl", [row]), language="en").questions[0]
    assert (found.scenario, found.options) == ("A[31m story.", ('__import__("os")', "y"))


def test_what_cannot_be_known_is_asked(tmp_path: Path) -> None:
    """No path, no language, an unknown format or an unknown code: each error says what to do."""
    file = write(tmp_path / "x.jsonl", ROWS)
    with pytest.raises(BenchmarkError, match="not said which language") as told:
        load_benchmark(file)
    assert "--language" in told.value.hint
    for options, error in (({"language": "klingonese"}, LanguageError), ({"format": "xml"}, BenchmarkError)):
        with pytest.raises(error):
            load_benchmark(file, **options)
    for path, options in (
        (tmp_path / "nowhere", {}),
        (tmp_path, {"format": "bigbench"}),
        (tmp_path, {"format": "adage"}),
    ):
        with pytest.raises(AdageError, match=r"holds no benchmark|no benchmark at"):
            load_benchmark(path, **options)
    (tmp_path / "empty").mkdir()
    with pytest.raises(BenchmarkError, match="neither a manifest"):
        load_benchmark(tmp_path / "empty")


@settings(max_examples=150)
@given(
    kind=st.sampled_from([".json", ".jsonl", ".csv", ".parquet"]),
    cuts=st.lists(st.tuples(st.floats(0, 1), st.binary(max_size=4), st.integers(0, 6)), min_size=1, max_size=3),
)
def test_damage_is_named_never_a_crash(kind: str, cuts: list[tuple[float, bytes, int]]) -> None:
    """Whatever bytes are put into, or cut out of, a sound file: questions, or an error of ours."""
    rows = [row | {"answer": "B"} for row in ROWS]
    table = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), table)
    sound = {
        ".json": json.dumps({"examples": [{"input": "A.", "target_scores": {"x": 1, "y": 0}}]}).encode(),
        ".jsonl": b"".join(json.dumps(row).encode() + b"\n" for row in rows),
        ".csv": b"narrative,A,B,answer\nS,x,y,B\nT,x,z,A\n",
        ".parquet": table.getvalue().to_pybytes(),
    }[kind]
    for where, put, take in cuts:
        at = int(where * len(sound))
        sound = sound[:at] + put + sound[at + take :]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"x{kind}"
        file.write_bytes(sound)
        with contextlib.suppress(AdageError):
            for found in load_benchmarks(file, language="en"):
                assert found.questions
                assert remarks(found) is not None


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"answer": [1, 1, 1]}, "'answer' is"),
        ({"answer": "B", "roles": ["gold", "near_match", "random"]}, r"answers are \[1\] .* mark \[0\] as gold"),
    ],
)
def test_a_key_that_contradicts_itself_is_refused(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    """Every option right is no key, and roles that mark another option as the gold show that one is wrong."""
    path = write(tmp_path / "x.jsonl", [{"scenario": "S.", "choices": ["x", "y", "z"], **row}])
    with pytest.raises(BenchmarkError, match=message):
        load_benchmark(path, language="en")


def test_a_task_in_which_all_options_are_right_is_refused(tmp_path: Path) -> None:
    """Equal scores for all options ask nothing, and would make chance 1."""
    task = {"examples": [{"input": "A.", "target_scores": {"x": 1, "y": 1}}]}
    (tmp_path / "task.json").write_text(json.dumps(task), "utf-8")
    with pytest.raises(BenchmarkError, match="every option is right"):
        load_benchmark(tmp_path)


def test_a_table_with_a_broken_column_name_is_no_sound_parquet(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 where Parquet keeps a name are damage like any other."""
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "x.parquet", compression="none", store_schema=False)
    content = (tmp_path / "x.parquet").read_bytes()
    (tmp_path / "x.parquet").write_bytes(content.replace(b"scenario", b"\xc3cenario"))
    with pytest.raises(BenchmarkError, match="no sound Parquet"):
        load_benchmark(tmp_path / "x.parquet", language="en")
