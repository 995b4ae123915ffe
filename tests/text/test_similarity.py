"""Character ROUGE-L."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.text.similarity import rouge_l

SOME = st.text(st.sampled_from("abcሀሐ漢 "), max_size=14)


def _longest_common_subsequence(a: str, b: str) -> int:
    """The textbook table, row by row."""
    row = [0] * (len(b) + 1)
    for x in a:
        above = row
        row = [0]
        for j, y in enumerate(b):
            row.append(above[j] + 1 if x == y else max(above[j + 1], row[j]))
    return row[-1]


@given(SOME, SOME)
def test_rouge_l_is_f1_of_the_longest_common_subsequence(a: str, b: str) -> None:
    """The value is that of the formula in Lin 2004, with the plain dynamic programme as oracle."""
    common = _longest_common_subsequence(a, b)
    if common == 0:
        expected = 1.0 if not a and not b else 0.0
    else:
        precision, recall = common / len(b), common / len(a)
        expected = 2 * precision * recall / (precision + recall)
    assert rouge_l(a, b) == pytest.approx(expected)
    assert rouge_l(a, b) == rouge_l(b, a)


def test_rouge_l_of_equal_texts_is_one() -> None:
    """Equal texts are as similar as can be, empty ones included."""
    assert rouge_l("ሰላም", "ሰላም") == rouge_l("", "") == 1.0
    assert rouge_l("ሰላም", "") == 0.0
