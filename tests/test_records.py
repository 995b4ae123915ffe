"""Records: ids that follow the content, seals that notice every edit, JSON without loss."""

from hashlib import blake2b
from typing import get_type_hints

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.errors import VerificationError
from adage.records import (
    Check,
    Item,
    Proverb,
    Scenario,
    Theme,
    content_hash,
    digest,
    item_id,
    proverb_id,
    scenario_id,
    seal,
    verify,
)
from material import item, proverb, scenario

GOLD = proverb("Slow drops fill the jar")
WRONG = [proverb(text) for text in ("A loud drum is hollow", "The fox praises the crow", "Late rain, no harvest")]
SEALED = [GOLD, scenario("Ana saved a coin a day.", GOLD), item("Ana saved a coin a day.", GOLD, WRONG)]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=3),
    max_leaves=8,
)


def test_ids_are_fixed_for_ever():
    """Published ids never change: hashes of canonical JSON, one of which stands here as a promise."""
    content = b'["en","slow drops fill the jar"]'
    assert proverb_id("en", "slow drops fill the jar") == "p" + blake2b(content, digest_size=8).hexdigest()
    assert proverb_id("en", "slow drops fill the jar") == "p1b8326ee31897e21"
    assert scenario_id("p0", "text") == "s" + digest("p0", "text", size=8)
    assert item_id("s0", ["p2", "p1"], "paper") == "i" + digest("s0", ["p1", "p2"], "paper", size=8)


def test_an_items_id_does_not_depend_on_the_order_of_its_options():
    """Dealing positions leaves the id alone; another set of options, or another assembly, is another item."""
    ids = {item_id("s0", names, "paper") for names in (["a", "b", "c"], ("c", "a", "b"), ["b", "c", "a"])}
    assert len(ids) == 1
    assert item_id("s0", ["a", "b"], "paper") not in ids
    assert item_id("s0", ["a", "b", "c"], "balanced") not in ids


@given(json_values, json_values)
def test_digest_is_canonical_and_tells_values_apart(left, right):
    """Equal JSON values have equal digests whatever the order of their keys, different ones do not."""
    assert (digest(left) == digest(right)) == (
        msgspec.json.encode(left, order="sorted") == msgspec.json.encode(right, order="sorted")
    )
    if isinstance(left, dict):
        assert digest(left) == digest(dict(reversed(left.items())))
    assert len(digest(left)) == 32
    assert len(digest(left, size=8)) == 16


def test_digest_does_not_confuse_parts():
    """Where one part ends and the next begins matters."""
    assert len({digest("ab", "c"), digest("a", "bc"), digest("abc"), digest(["a", "bc"])}) == 4


@pytest.mark.parametrize("record", SEALED, ids=lambda record: type(record).__name__)
def test_a_record_survives_json_and_verifies(record):
    """What is written is read back equal, hash included."""
    again = msgspec.json.decode(msgspec.json.encode(record), type=type(record))
    assert again == record
    verify(again)


@pytest.mark.parametrize("record", SEALED, ids=lambda record: type(record).__name__)
def test_verify_notices_an_edit_of_any_field(record):
    """No field of a record can be changed behind its seal, nor can the seal itself."""
    checks = (Check(name="edited", passed=True),)
    edits = {
        "checks": checks,
        "theme": Theme(label="x", by="y"),
        "options": record.options[::-1] if isinstance(record, Item) else (),
        "merged": ("elsewhere:1",),
        "alternatives": ("another meaning",),
        "assembly": "paper",
        "split": "dev",
        "answer": 2,
        "cluster": 7,
        "row_hash": "0" * 32,
    }
    for field in msgspec.structs.fields(type(record)):
        edited = msgspec.structs.replace(record, **{field.name: edits.get(field.name, "edited")})
        with pytest.raises(VerificationError, match="was edited by hand") as caught:
            verify(edited)
        assert record.id in str(caught.value) or edited.id in str(caught.value)


def test_an_edited_explanation_keeps_the_id_and_changes_the_hash():
    """Links by id outlive every edit but that of the text."""
    edited = seal(msgspec.structs.replace(GOLD, explanation="Patience pays."))
    assert edited.id == GOLD.id
    assert edited.row_hash != GOLD.row_hash
    verify(edited)


def test_sealing_twice_changes_nothing():
    """The hash covers everything but itself."""
    assert seal(GOLD) == GOLD
    assert content_hash(GOLD) == GOLD.row_hash


def test_records_are_frozen_keyword_only_and_write_no_defaults():
    """A record cannot be changed, not be built by position, and its JSON holds what was said only."""
    with pytest.raises(AttributeError):
        GOLD.text = "other"
    with pytest.raises(TypeError):
        Check("keyword", False)
    assert msgspec.json.encode(Check(name="a", passed=None)) == b'{"name":"a","passed":null}'


def test_no_record_holds_a_free_form_dict():
    """What travels is typed: no field of a record that flows is a dict."""
    for kind in (Proverb, Scenario, Item, Check, Theme):
        assert not [name for name, hint in get_type_hints(kind).items() if "dict" in str(hint)]
