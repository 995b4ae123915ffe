"""Draws docs/images/demo.png: an item of each language of the demo and what its options give away.

Run `make demo`, then `python docs/images/make.py`; needs Chromium and the Noto fonts.
"""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
from pathlib import Path

from adage.language import load
from adage.records import Item
from adage.showcase import run_demo

HERE = Path(__file__).parent
ROLES = {"gold": "fits", "same_cluster": "same theme", "near_match": "near match", "random": "random"}
GUESSERS = (("theme_pair", "clusters"), ("closest_pair", "meaning"), ("medoid", "meaning"), ("outlier", "meaning"))
STYLE = """
body { margin: 0; padding: 28px; width: 1344px; background: #f6f4ef; color: #222; font: 15px/1.5 "Noto Sans", sans-serif; }
.row { display: flex; gap: 20px; } .card { flex: 1; background: #fff; border-radius: 10px; padding: 20px; box-shadow: 0 1px 4px #0002; }
h2 { margin: 0 0 10px; font-size: 17px; } .story { min-height: 130px; } .option { display: flex; justify-content: space-between;
gap: 12px; padding: 5px 9px; border: 1px solid #ddd; border-radius: 6px; margin-top: 6px; } .gold { border-color: #2a7d4f; background: #eaf6ee; }
.role { color: #777; font-size: 12px; white-space: nowrap; direction: ltr; } table { margin-top: 16px; width: 100%; border-collapse: collapse;
font-size: 13px; white-space: nowrap; } td, th { text-align: right; padding: 2px 4px; font-weight: normal; } th { color: #777; } td:first-child, th:first-child
{ text-align: left; } .bad { color: #b3261e; font-weight: 600; } p { color: #555; margin: 18px 2px 0; font-size: 13px; }
"""


def option(place: int, item: Item) -> str:
    """One answer option with its role."""
    shown = item.options[place]
    gold = " gold" if place == item.answer else ""
    return (
        f'<div class="option{gold}"><span>{html.escape(shown.text)}</span>'
        f'<span class="role">{ROLES[shown.role]}</span></div>'
    )


def main() -> None:
    """Build the page from the demo's results and photograph it."""
    cards = []
    for result in run_demo(Path(sys.argv[1] if len(sys.argv) > 1 else "demo")):
        language = load(result.language)
        item = next(item for item in result.items if item.assembly == "balanced")
        found = {
            (assembly, control.name, control.space): control
            for assembly, controls in result.controls.items()
            for control in controls
        }
        rows = []
        for name, space in GUESSERS:
            cells = []
            for assembly in ("paper", "balanced"):
                control = found[assembly, name, space]
                bad = "" if control.low <= control.chance <= control.high else ' class="bad"'
                cells.append(f"<td{bad}>{control.accuracy:.2f} ({control.low:.2f}–{control.high:.2f})</td>")
            rows.append(f"<tr><td>{name.replace('_', ' ')}</td>{''.join(cells)}</tr>")
        options = "".join(option(place, item) for place in range(len(item.options)))
        cards.append(
            f'<div class="card"><h2>CAPR-{result.language} <span class="role">{language.native_name}</span></h2>'
            f'<div dir="{language.direction}" lang="{language.code}"><div class="story">{html.escape(item.scenario)}</div>{options}</div>'
            f"<table><tr><th>sees the options alone</th><th>paper</th><th>balanced</th></tr>{''.join(rows)}</table></div>"
        )
    note = (
        "Accuracy of guessers that never see the story, with 95 % intervals clustered by meaning group; chance is 0.25, red is outside it. "
        "28 proverbs a language: a theme pair cannot be balanced fully on so few."
    )
    page = f'<meta charset="utf-8"><style>{STYLE}</style><div class="row">{"".join(cards)}</div><p>{note}</p>'
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "demo.html"
        source.write_text(page, encoding="utf-8")
        target = HERE / "demo.png"
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1400,650"]
        quiet = ["--disable-background-networking", "--no-first-run", f"--user-data-dir={folder}/profile"]
        command = ["chromium", *flags, *quiet, f"--screenshot={target}", source.as_uri()]
        subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    main()
