"""Merging is by key alone, keeps everything, and groups are connected components."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adage.corpus.dedupe import groups, meaning_groups, merge, merge_keys
from adage.language import load
from adage.records import RawRow

AR, KO = load("ar"), load("ko")


def row(text: str, *explanations: str, place: str = "c:1", **more: object) -> RawRow:
    """A row of a corpus."""
    return RawRow(text=text, explanations=explanations, place=place, source_id="c", **more)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=20))
def test_merge_keys(rows: list[tuple[str, int]]) -> None:
    """Each row merges into the first best row of its key, which merges into itself."""
    keys, scores = [key for key, _ in rows], [float(score) for _, score in rows]
    into = merge_keys(keys, scores)
    for index, target in enumerate(into):
        same = [other for other in range(len(rows)) if keys[other] == keys[index]]
        assert target == max(same, key=lambda other: (scores[other], -other))
        assert into[target] == target


@given(
    st.lists(
        st.tuples(
            st.text("ab", max_size=8), st.lists(st.sampled_from("xyz"), max_size=2), st.sampled_from(["", "m", "n"])
        ),
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_groups_do_not_depend_on_order(rows: list[tuple[str, list[str], str]], random: object) -> None:
    """Shuffling the rows shuffles the groups with them; a group is named by its first member."""

    def partition(order: list[int]) -> set[frozenset[int]]:
        found = meaning_groups([rows[i][0] for i in order], [rows[i][1] for i in order], [rows[i][2] for i in order])
        assert all(found[first] == first <= index for index, first in enumerate(found))
        return {frozenset(order[i] for i, first in enumerate(found) if first == name) for name in set(found)}

    order = list(range(len(rows)))
    shuffled = order[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert partition(order) == partition(shuffled)


def test_groups_by_kind_of_link() -> None:
    """Near duplicates, shared explanations and hand marks each link rows; links chain."""
    keys = [
        "etme bulursun inleme olursun",
        "etme bulursun inleye olursun",
        "ne ekersen onu bicersin",
        "herkes ektigini bicer",
        "baska",
    ]
    found = meaning_groups(keys, [[], ["nasil"], ["nasil"], [], []], ["", "", "g", "g", ""])
    assert found == [0, 0, 0, 0, 4]


def test_merge_keeps_everything() -> None:
    """The best-explained text stays, with all explanations and the other spellings as variants."""
    rows = [
        row("الصبر مفتاح الفرج", place="c:1"),
        row("الصَّبر مفتاح الفرج.", "من صبر نال ما يريده من الخير كله", place="c:2", group="g"),
        row("الصبر مفتاح الفرج", "قصير", place="c:3"),
        row("", place="c:4", rejected="empty"),
        row("يد واحدة لا تصفق", place="c:5"),
    ]
    merged = merge(rows, AR)
    assert merged.into == (1, 1, 1, -1, 4)
    best, other = merged.rows
    assert best.text == "الصَّبر مفتاح الفرج."
    assert best.explanations == ("من صبر نال ما يريده من الخير كله", "قصير")
    assert best.variants == ("الصبر مفتاح الفرج",)
    assert best.group == "g"
    assert other.place == "c:5"
    assert [pair.merged for pair in merged.by_marks] == ["c:1", "c:3"]


def test_merged_by_spaces_is_listed() -> None:
    """Where a language's keys ignore spaces, what merged by that alone is listed for review."""
    merged = merge([row("새 발의 피", place="c:1"), row("새발의 피", place="c:2"), row("새발의 피!", place="c:3")], KO)
    assert len(merged.rows) == 1
    assert [(pair.kept, pair.merged) for pair in merged.by_spaces] == [("c:1", "c:2"), ("c:1", "c:3")]


def test_large_groups_are_named() -> None:
    """More than ten proverbs under one explanation are one suspicious group."""
    rows = [row(f"{word} مثل طويل {word}", "معنى واحد مشترك", place=f"c:{n}") for n, word in enumerate("ابتثجحخدذرزس")]
    found = groups(rows, AR, threshold=1.0)
    assert found.large == (tuple(range(12)),)


def test_same_meaning_is_one_group() -> None:
    """Two proverbs with the same explanation stay two, in one meaning group."""
    rows = [
        row("얼레빗 참빗 품고 가도", "잘사는 것은 아니라는 말"),
        row("이고 지고 가도 못산다", "잘사는 것은 아니라는 말"),
    ]
    merged = merge(rows, KO)
    assert len(merged.rows) == 2
    assert groups(merged.rows, KO).of == (0, 0)
