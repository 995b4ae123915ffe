"""What an evaluation shows: every table, in the order in which a report is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adage.analysis.controls import Control
from adage.analysis.diagnosis import calibration_tables, difficulty_table, item_table, position_table, spread_table
from adage.analysis.performance import accuracy_table, control_table, gap_table, outcome_table, pair_tables
from adage.analysis.responses import Responses, all_responses
from adage.analysis.roles import attraction_table, gradient_table, logit_table, trend_table
from adage.analysis.tables import Table
from adage.evaluation.result import Evaluated
from adage.records import Record


class Analysis(Record, frozen=True, kw_only=True, omit_defaults=False):
    """The tables of an analysis; a table without a row is left out."""

    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    """What the runs themselves remark on, and what is missing."""

    def table(self, key: str) -> Table | None:
        """The table of this key, if there is one."""
        return next((table for table in self.tables if table.key == key), None)


def analyse(
    evaluated: Sequence[Evaluated], controls: Mapping[str, Sequence[Control]] | None = None, *, draws: int = 10_000
) -> Analysis:
    """Every table that the runs give rise to; the same runs, in any order, give the same tables.

    Args:
        evaluated: The runs.
        controls: Guessers' accuracy on each benchmark, by its slug.
        draws: Bootstrap samples.

    Raises:
        StoreError: two different runs claim the same model, benchmark and condition, or an answer does not fit.
    """
    runs = all_responses(evaluated)
    names = {run.result.benchmark: run.name for run in runs}
    known = {names[slug]: found for slug, found in (controls or {}).items() if slug in names}
    tables = [
        accuracy_table(runs),
        outcome_table(runs),
        control_table(known),
        gap_table(runs),
        *pair_tables(runs),
        attraction_table(runs, draws=draws),
        logit_table(runs),
        gradient_table(runs, draws=draws),
        trend_table(runs, draws=draws),
        position_table(runs),
        spread_table(runs),
        *calibration_tables(runs),
        difficulty_table(runs),
        item_table(runs),
    ]
    return Analysis(tables=tuple(table for table in tables if table.rows), notes=_notes(runs, known))


def _notes(runs: Sequence[Responses], controls: Mapping[str, object]) -> tuple[str, ...]:
    noted: dict[str, list[str]] = {}
    for run in runs:
        for note in run.result.notes:
            noted.setdefault(note, []).append(f"{run.model} on {run.name} ({run.put})")
    said = [f"{whose[0] if len(whose) == 1 else f'{len(whose)} runs'}: {note}" for note, whose in noted.items()]
    bare = {(run.model, run.name) for run in runs if run.condition.shown == "choices_only"}
    full = {(run.model, run.name) for run in runs if run.condition.shown == "full"}
    if lacking := len(full - bare):
        said.append(f"{lacking} of {len(full)} runs have no choices-only run beside them")
    said += [
        f"{name}: no controls are stored beside the questions"
        for name in sorted({name for _, name in full} - {*controls})
    ]
    return tuple(said)
