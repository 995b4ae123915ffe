"""Figures: the same bytes each time, text that stays text, names of any script."""

import re
import xml.etree.ElementTree as ET
from functools import cache

import matplotlib as mpl
import pytest
from matplotlib import font_manager

from adage.analysis.analyse import analyse
from adage.analysis.figures import draw_all, look_of
from evaluated import Mind, benchmark, evaluate, roster

NAMES = ["accuracy", "scaling", "gap", "attraction", "gradient", "position", "reliability"]


@cache
def whole():
    """The analysis of nine models in two languages."""
    return analyse(roster(n=60), draws=100)


@cache
def pictures():
    """Its figures as SVG."""
    return {picture.name: picture.content for picture in draw_all(whole(), "svg")}


def texts(svg):
    """Text elements of an SVG file."""
    return {"".join(element.itertext()) for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")}


def test_every_figure_is_drawn():
    """A roster in two languages gives every figure, named after what it shows and the condition."""
    assert list(pictures()) == [f"{name}.letter.native.latin" for name in NAMES]


def test_the_same_tables_give_the_same_bytes():
    """Neither a date nor a random id is in a file."""
    assert {picture.name: picture.content for picture in draw_all(whole(), "svg")} == pictures()
    assert not re.search(rb"<dc:date>|Matplotlib v", b"".join(pictures().values()))


def test_text_stays_text():
    """Names can be searched, copied and read aloud in an SVG."""
    for name, content in pictures().items():
        said = texts(content)
        assert "CAPR-ja" in said, name
        if name.partition(".")[0] not in {"scaling", "gradient"}:
            assert "Gamma 30.0B" in said, name


def test_settings_of_others_are_left_alone():
    """Drawing changes nothing in matplotlib for whoever else uses it."""
    before = dict(mpl.rcParams)
    for _ in draw_all(analyse([evaluate(benchmark(n=20), Mind())], draws=10), "svg"):
        pass
    assert dict(mpl.rcParams) == before


def named(name, language="ja"):
    """An analysis of one model of that name, on a benchmark of that name."""
    return analyse([evaluate(benchmark(language, 20, name=name), Mind(), name=name)], draws=10)


@pytest.mark.parametrize("name", ["نموذج كبير", "ትልቅ ሞዴል", "大きなモデル", "$x^2$", "a & <b>", "100 % _model_"])
def test_names_of_any_script_are_drawn(name):
    """Right-to-left, Ethiopic and CJK names, and names that look like markup, are shown as they are."""
    for picture in draw_all(named(name), "svg"):
        assert name in texts(picture.content), picture.name


@pytest.mark.parametrize("name", ["نموذج كبير", "ትልቅ ሞዴል", "大きなモデル", "\ue000\U0001f9ff"])
def test_a_png_has_no_empty_boxes(name):
    """Where no font has a sign, its number is drawn instead (a missing glyph warns, and warnings are errors here)."""
    found = list(draw_all(named(name), "png"))
    assert all(picture.content.startswith(b"\x89PNG") for picture in found)


def test_signs_without_a_font_are_spelt_out(monkeypatch):
    """A machine with no font but matplotlib's own still draws every name."""
    ours = [font for font in font_manager.fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", ours)
    assert list(draw_all(named("ትልቅ"), "png"))


def test_the_legend_names_what_any_panel_shows():
    """A family that was asked the second benchmark alone is in the legend of both."""
    runs = [
        evaluate(benchmark(language, 20), Mind(), name=family, family=family, parameters=1.0)
        for language, family in (("en", "Alpha"), ("ja", "Beta"))
    ]
    scaling = next(one for one in draw_all(analyse(runs, draws=10), "svg") if one.name.startswith("scaling"))
    assert {"Alpha", "Beta"} <= texts(scaling.content)


def test_many_series_can_be_told_apart():
    """More benchmarks than colours: no two have colour and marker in common."""
    looks = [look_of(place) for place in range(40)]
    assert len({(look["color"], look["marker"]) for look in looks}) == 40


def test_what_is_missing_is_not_drawn():
    """Without sizes there is no scaling plot, without other languages no gap and no gradient."""
    found = [picture.name.partition(".")[0] for picture in draw_all(named("one"), "svg")]
    assert found == ["accuracy", "attraction", "position", "reliability"]
