"""Offline batches: requests go out in OpenAI's format, responses come in, and whatever is wrong is named by line."""

import json
import re

import pytest

from adage.errors import CallOwed, StoreError
from adage.models import batch
from adage.models.base import Message
from adage.models.batch import take_in, write_batch
from adage.models.chat import EndpointModel
from adage.store.journal import Journal
from adage.store.recorded import RecordedChat

SCHEMA = {"type": "object", "properties": {"theme": {"type": "string"}}}


@pytest.fixture
def journal(tmp_path):
    """An empty journal."""
    with Journal(tmp_path / "calls.sqlite") as journal:
        yield journal


def model_of(name="m"):
    """A model nobody can reach."""
    return EndpointModel(name, base_url="http://localhost:1/v1", model=f"id-{name}", seed=3)


async def owe(model, journal, texts):
    """What a build without answers leaves owed."""
    owed = {}
    recorded = RecordedChat(model, journal, owed=owed)
    for text in texts:
        with pytest.raises(CallOwed):
            await recorded.chat(recorded.request([Message(role="user", content=text)], SCHEMA))
    return owed


def response(key, text="yes", **fields):
    """A line of responses."""
    body = {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 7}}
    return {"id": "r", "custom_id": key, "response": {"status_code": 200, "body": body}, "error": None, **fields}


def write(path, *lines):
    """A file of responses."""
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


async def test_requests_go_out_in_the_batch_format(tmp_path, journal):
    """Each line carries the journal key and the very body that the endpoint would have been sent."""
    model = model_of()
    owed = await owe(model, journal, ["a", "b", "a"])
    written = write_batch(tmp_path / "out.jsonl", {"m": owed}, {"m": model.body}, tmp_path / "sent.jsonl", journal)
    assert written == {tmp_path / "out.jsonl": 2}
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [line["custom_id"] for line in lines] == sorted(owed)
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    body = next(line["body"] for line in lines if line["body"]["messages"][0]["content"] == "a")
    assert (body["model"], body["seed"]) == ("id-m", 3)
    assert body["response_format"]["json_schema"]["schema"] == SCHEMA


async def test_each_model_gets_a_file_of_its_own(tmp_path, journal):
    """A batch service takes one model a file; a model that is owed nothing gets none."""
    models = {name: model_of(name) for name in "abc"}
    owed = {name: await owe(models[name], journal, ["x"] if name != "c" else []) for name in models}
    written = write_batch(
        tmp_path / "out.jsonl",
        owed,
        {name: model.body for name, model in models.items()},
        tmp_path / "sent.jsonl",
        journal,
    )
    assert written == {tmp_path / "out-a.jsonl": 1, tmp_path / "out-b.jsonl": 1}


@pytest.mark.parametrize(("limit", "sizes"), [("_MOST_REQUESTS", [2, 2, 1]), ("_MOST_BYTES", [2, 2, 1])])
async def test_what_is_too_much_for_one_file_goes_on_in_others(tmp_path, journal, monkeypatch, limit, sizes):
    """Whole requests, each once, in files that keep the service's limits; the list of what is out holds all."""
    model, sent = model_of(), tmp_path / "sent.jsonl"
    owed = await owe(model, journal, list("abcde"))
    write_batch(tmp_path / "all.jsonl", {"m": owed}, {"m": model.body}, sent, journal)
    whole = (tmp_path / "all.jsonl").read_bytes()
    most = 2 if limit == "_MOST_REQUESTS" else max(len(line) for line in whole.splitlines(keepends=True)) * 2
    monkeypatch.setattr(batch, limit, most)
    written = write_batch(tmp_path / "ask.jsonl", {"m": owed}, {"m": model.body}, sent, journal)
    assert [*written.items()] == [
        (tmp_path / f"ask{mark}.jsonl", n) for mark, n in zip(("", "-2", "-3"), sizes, strict=True)
    ]
    assert b"".join(file.read_bytes() for file in written) == whole
    answers = [
        write(
            tmp_path / f"in-{file.name}",
            *(response(json.loads(line)["custom_id"]) for line in file.read_text().splitlines()),
        )
        for file in written
    ]
    assert (await take_in(answers, sent, journal)).stored == 5


async def test_no_file_of_a_batch_is_written_twice(tmp_path, journal, monkeypatch):
    """A model whose name looks like another's second file; a request that alone is larger than a file may be."""
    monkeypatch.setattr(batch, "_MOST_BYTES", 10)
    models = {name: model_of(name) for name in ("a", "a-2")}
    owed = {name: await owe(models[name], journal, ["x", "y"]) for name in models}
    bodies = {name: model.body for name, model in models.items()}
    written = write_batch(tmp_path / "ask.jsonl", owed, bodies, tmp_path / "sent.jsonl", journal)
    assert [file.name for file in written] == ["ask-a.jsonl", "ask-a-2.jsonl", "ask-a-2-2.jsonl", "ask-a-2-3.jsonl"]
    ids = [json.loads(file.read_text())["custom_id"] for file in written]
    assert sorted(ids) == sorted([*owed["a"], *owed["a-2"]])


async def test_responses_end_up_in_the_journal(tmp_path, journal):
    """In any order and from several files; the request they answer is answered by the journal from then on."""
    model, sent = model_of(), tmp_path / "sent.jsonl"
    owed = await owe(model, journal, ["a", "b"])
    write_batch(tmp_path / "out.jsonl", {"m": owed}, {"m": model.body}, sent, journal)
    first, second = owed
    files = [write(tmp_path / "1.jsonl", response(second)), write(tmp_path / "2.jsonl", "", response(first, "no"))]
    assert (await take_in(files, sent, journal)).stored == 2
    assert journal.verify() == 2
    assert (await RecordedChat(model, journal).chat(owed[first])).text == "no"
    assert (await take_in(files, sent, journal)).known == 2


async def test_what_is_wrong_is_named_by_line_and_still_missing(tmp_path, journal):
    """Damaged lines, unknown ids, errors and empty answers are each reported; good lines are stored all the same."""
    model, sent = model_of(), tmp_path / "sent.jsonl"
    owed = await owe(model, journal, list("abcdef"))
    write_batch(tmp_path / "out.jsonl", {"m": owed}, {"m": model.body}, sent, journal)
    a, b, c, d, e, f = owed
    file = write(
        tmp_path / "in.jsonl",
        response(a),
        "{broken",
        response("nobody"),
        response(b, response={"status_code": 429, "body": {"error": {"message": "slow down"}}}),
        response(c, error={"code": "batch_expired", "message": "too late"}, response=None),
        response(d, text=""),
        '{"custom_id": 7}',
        response(e, response={"status_code": 200, "body": None}),
        response(f, "last"),
    )
    found = await take_in([file], sent, journal)
    assert (found.stored, found.known, len(found.problems)) == (2, 0, 7)
    said = dict(zip((2, 3, 4, 5, 6, 7, 8), found.problems, strict=True))
    words = ("no response", "'nobody'", "429.*slow down", "too late", "empty", "no response", "not answered")
    for (line, problem), expected in zip(said.items(), words, strict=True):
        assert re.match(f"{re.escape(str(file))}:{line}: .*{expected}", problem)
    assert journal.known(owed) == {a, f}


async def test_requests_of_several_rounds_stay_known(tmp_path, journal):
    """Responses to an earlier file are taken in after a later one was written; answered requests leave the list."""
    model, sent = model_of(), tmp_path / "sent.jsonl"
    early = await owe(model, journal, ["a", "b"])
    write_batch(tmp_path / "1.jsonl", {"m": early}, {"m": model.body}, sent, journal)
    late = await owe(model, journal, ["c"])
    write_batch(tmp_path / "2.jsonl", {"m": late}, {"m": model.body}, sent, journal)
    found = await take_in([write(tmp_path / "in.jsonl", *(response(key) for key in early))], sent, journal)
    assert (found.stored, found.problems) == (2, ())
    write_batch(tmp_path / "3.jsonl", {"m": {}}, {"m": model.body}, sent, journal)
    assert len(sent.read_text().splitlines()) == 1


async def test_a_missing_file_of_responses_is_an_error(tmp_path, journal):
    """A mistyped name must not look like an empty batch."""
    with pytest.raises(StoreError, match="cannot be read"):
        await take_in([tmp_path / "none.jsonl"], tmp_path / "sent.jsonl", journal)
