"""The call journal: what is acknowledged survives anything, and damage is told apart from a full disk."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from adage.errors import JournalError, StoreError, VerificationError
from adage.models.base import ChatReply, ChatRequest, Message
from adage.store.journal import Journal

WRITER = Path(__file__).parent / "journal_writer.py"


def request(number, model="m"):
    """One of many different requests."""
    content = f"Nr. {number}: ما هذا؟"
    return ChatRequest(model=model, family="scripted", messages=(Message(role="user", content=content),))


def reply(number):
    """The reply to request `number`."""
    return ChatReply(text=f"{number}\u2028塵\ud83d".encode(errors="replace").decode(), prompt_tokens=3, reasoning="hm")


@pytest.fixture
def path(tmp_path):
    """Where no journal is yet."""
    return tmp_path / "deep" / "calls.sqlite"


async def test_replies_come_back_as_they_were(path):
    """Text, counts and thinking survive closing and opening again; an unknown key gives None."""
    with Journal(path) as journal:
        assert journal.get(request(1).key()) is None
        assert await journal.put(request(1).key(), request(1), reply(1)) == reply(1)
        assert journal.get(request(1).key()) == reply(1)
    with Journal(path) as journal:
        assert journal.get(request(1).key()) == reply(1)
        assert journal.known([request(1).key(), request(2).key()]) == {request(1).key()}
        assert journal.known([]) == set()
        assert journal.verify() == 1


async def test_many_puts_share_few_commits(path):
    """Five thousand calls at once are stored in seconds, because what queues up goes into one commit."""
    with Journal(path) as journal:
        await asyncio.gather(*(journal.put(request(n).key(), request(n), reply(n)) for n in range(5000)))
        stats = journal.stats()
        assert (stats.calls, stats.models, stats.prompt_tokens) == (5000, {"m": 5000}, 15000)
        assert len(journal.known(request(n).key() for n in range(6000))) == 5000


async def test_a_reply_that_is_no_text_harms_nobody_else(path):
    """Half a character cannot be stored: its own call is told, and the others are committed."""
    with Journal(path) as journal:
        puts = (journal.put(request(n).key(), request(n), ChatReply(text=text)) for n, text in enumerate("a\ud800b"))
        first, half, last = await asyncio.gather(*puts, return_exceptions=True)
        assert (first.text, type(half), last.text) == ("a", UnicodeEncodeError, "b")
        assert journal.verify() == 2


async def test_many_replies_are_found_at_once(path):
    """Those that are stored, by key; the others are left out."""
    with Journal(path) as journal:
        await asyncio.gather(*(journal.put(request(n).key(), request(n), reply(n)) for n in range(50)))
        found = journal.get_many(request(n).key() for n in range(40, 60))
        assert found == {request(n).key(): reply(n) for n in range(40, 50)}
        assert journal.get_many([]) == {}


async def test_one_key_twice_in_a_commit_keeps_the_first(path):
    """Two replies to one request that are written together: both who put them get the first."""
    with Journal(path) as journal:
        replies = await asyncio.gather(*(journal.put(request(1).key(), request(1), reply(n)) for n in range(5)))
        assert replies == [reply(0)] * 5
        others = await asyncio.gather(*(journal.put(request(n).key(), request(n), reply(7)) for n in range(3)))
        assert others == [reply(7), reply(0), reply(7)]


async def test_the_first_reply_stays(path):
    """Two processes that paid for the same request use the same reply: the later one is given the stored one."""
    with Journal(path) as one, Journal(path) as two:
        assert await one.put(request(1).key(), request(1), reply(1)) == reply(1)
        assert await two.put(request(1).key(), request(1), reply(2)) == reply(1)
        assert two.get(request(1).key()) == reply(1)


async def test_a_cancelled_put_is_stored_all_the_same(path):
    """Whoever stops waiting does not lose a reply that is paid for, nor stop the writer."""
    with Journal(path) as journal:
        task = asyncio.create_task(journal.put(request(1).key(), request(1), reply(1)))
        await asyncio.sleep(0)
        task.cancel()
        await journal.put(request(2).key(), request(2), reply(2))
        assert journal.get(request(1).key()) == reply(1)


async def test_a_closed_journal_says_so(path):
    """A put after closing is an error, not a wait without end."""
    journal = Journal(path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        await journal.put(request(1).key(), request(1), reply(1))


def test_no_acknowledged_reply_is_lost_to_kill_9(path):
    """Three processes write into one new journal and are killed: what they had acknowledged is there, and sound."""
    writers = [
        subprocess.Popen([sys.executable, WRITER, path, str(first)], stdout=subprocess.PIPE, text=True)
        for first in (0, 100_000, 200_000)
    ]
    acknowledged = []
    for writer in writers:
        assert writer.stdout is not None
        acknowledged += [writer.stdout.readline() for _ in range(200)]
    for writer in writers:
        os.kill(writer.pid, signal.SIGKILL)
    for writer in writers:
        acknowledged += [line for line in writer.communicate()[0].splitlines(keepends=True) if line.endswith("\n")]
    with Journal(path) as journal:
        assert journal.verify() >= len(acknowledged) >= 600
        assert all(journal.get(key.strip()) for key in acknowledged)


@pytest.mark.parametrize("content", [b"this is no database " * 100, None])
async def test_damage_is_reported_with_a_way_out(path, content):
    """A file that is no database, or one with ruined pages, gives a `JournalError` that names file and next step."""
    with Journal(path) as journal:
        await asyncio.gather(*(journal.put(request(n).key(), request(n), reply(n)) for n in range(200)))
    pages = path.read_bytes()
    path.write_bytes(content or pages[:4096] + b"\xff" * (len(pages) - 4096))
    with pytest.raises(JournalError, match=r"calls\.sqlite' is damaged") as caught, Journal(path) as journal:
        journal.verify()
    assert "recover" in caught.value.hint


async def test_a_row_that_was_edited_is_found(path):
    """`verify` hashes every request again; a reply that cannot be read is damage."""
    with Journal(path) as journal:
        await journal.put(request(1).key(), request(1), reply(1))
    database = sqlite3.connect(path)
    database.execute("UPDATE calls SET request = replace(request, 'Nr. 1', 'Nr. 2')")
    database.commit()
    with Journal(path) as journal, pytest.raises(VerificationError, match="hashes to"):
        journal.verify()
    database.execute("UPDATE calls SET reply = '{}'")
    database.commit()
    database.close()
    with Journal(path) as journal, pytest.raises(JournalError, match="no call"):
        journal.get(request(1).key())


@pytest.mark.parametrize(
    ("column", "content", "message"),
    [
        ("reply", "substr(reply, 1, 5)", "a reply that is none"),
        ("reply", "'{}'", "a reply that is none.*text"),
        ("reply", """'{"text": "x", "choices": []}'""", "a reply that is none.*choices"),
        ("reply", """'{"text": 3}'""", "a reply that is none"),
        ("request", "substr(request, 1, 50)", "a request that is none"),
    ],
)
async def test_a_row_that_holds_something_else_is_named(path, column, content, message):
    """A truncated or foreign reply or request: `verify` names the key under which it is stored."""
    with Journal(path) as journal:
        for number in range(3):
            await journal.put(request(number).key(), request(number), reply(number))
    database, key = sqlite3.connect(path), request(1).key()
    database.execute(f"UPDATE calls SET {column} = {content} WHERE key = ?", (key,))
    database.commit()
    database.close()
    with (
        Journal(path) as journal,
        pytest.raises(VerificationError, match=f"stored under '{key}' has {message}") as caught,
    ):
        journal.verify()
    assert "delete that row" in caught.value.hint


def test_a_database_of_another_kind_is_left_alone(path):
    """Neither a stranger's database nor a newer format is written to."""
    path.parent.mkdir()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE theirs (x)")
    database.commit()
    with pytest.raises(JournalError, match="another program"):
        Journal(path)
    database.execute("DROP TABLE theirs")
    database.commit()
    Journal(path).close()
    database.execute("PRAGMA user_version=99")
    database.commit()
    database.close()
    with pytest.raises(JournalError, match="format 99"):
        Journal(path)


async def test_a_full_disk_is_not_damage(path):
    """The put fails with `StoreError`, what was stored stays, and the journal works again when there is room."""
    with Journal(path) as journal:
        await journal.put(request(1).key(), request(1), reply(1))
        (pages,) = journal._writer.execute("PRAGMA page_count").fetchone()
        journal._writer.execute(f"PRAGMA max_page_count={pages}")
        large = ChatReply(text="x" * 100_000)
        with pytest.raises(StoreError, match="disk is full") as caught:
            await journal.put(request(2).key(), request(2), large)
        assert not isinstance(caught.value, JournalError)
        assert journal.get(request(1).key()) == reply(1)
        journal._writer.execute("PRAGMA max_page_count=1000000")
        assert await journal.put(request(2).key(), request(2), large) == large


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    """A file stands where the folder should be."""
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="file"):
        Journal(tmp_path / "file" / "calls.sqlite")


async def test_no_secret_is_stored(path, monkeypatch):
    """What the journal keeps is the request without the key that it is sent with."""
    monkeypatch.setenv("ADAGE_TEST_KEY", "sk-very-secret")
    from adage.models.chat import EndpointModel

    model = EndpointModel("m", base_url="http://localhost:1/v1", model="x", key_env="ADAGE_TEST_KEY")
    asked = model.request([Message(role="user", content="Hm?")], None)
    with Journal(path) as journal:
        await journal.put(asked.key(), asked, reply(1))
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"secret" not in stored
    assert b"ADAGE_TEST_KEY" not in stored


async def test_calls_can_be_read_out(path):
    """Every call comes out once, in the order of its key, also where there are many; one model's alone if wanted."""
    with Journal(path) as journal:
        await asyncio.gather(
            *(journal.put(request(n, m).key(), request(n, m), reply(n)) for n in range(1100) for m in ("a", "b"))
        )
        found = list(journal.calls())
        assert [call.key for call in found] == sorted(request(n, m).key() for n in range(1100) for m in ("a", "b"))
        assert found[0].request.key() == found[0].key
        assert len(list(journal.calls(model="b"))) == 1100


async def test_pruning_deletes_what_is_named_and_nothing_else(path):
    """Calls of other models, and those in use, stay; the journal is whole and smaller afterwards."""
    with Journal(path) as journal:
        await asyncio.gather(
            *(journal.put(request(n, m).key(), request(n, m), reply(n)) for n in range(2000) for m in ("old", "new"))
        )
        kept = {request(n, "old").key() for n in range(10)}
        before = journal.stats()
        assert journal.prune(model="old", keep=kept) == 1990
        after = journal.stats()
        assert after.models == {"old": 10, "new": 2000}
        assert after.bytes < before.bytes
        assert journal.verify() == 2010
        assert journal.prune(model="nobody") == 0
        assert await journal.put(request(1, "old").key(), request(1, "old"), reply(1)) == reply(1)
        assert journal.prune() == 2010
