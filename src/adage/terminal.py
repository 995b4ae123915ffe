"""What the command line shows: progress, funnels, plans; plain lines where the output is no terminal."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec
from rich.cells import cell_len
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.status import Status as Spinner
from rich.table import Table
from rich.text import Text

from adage.analyser import Analysed
from adage.analysis import tables
from adage.analysis.controls import Control
from adage.analysis.judges import JudgeRates
from adage.bill import usage_line
from adage.engine.run import AnyStage
from adage.evaluation.result import Benchmark, Condition, Result, Status, Subject
from adage.evaluator import Evaluation
from adage.models.base import Message
from adage.packs import Checked, Facts, Summary
from adage.records import Item
from adage.showcase import DemoResult
from adage.stage import Dropped, Failed, Outcome
from adage.store.recorded import Usage
from adage.store.run import StageState, outdated
from adage.story import Appearance
from adage.text.unicode import harmless, isolate

_EVERY_S = 5.0
"""Seconds between plain progress lines."""
UsageOf = Callable[[], Usage]
Layout = Literal["rich", "csv", "markdown"]
_ROWS = 12
"""Rows of a table of an analysis that a terminal shows; of the first, ten times as many."""
_WORDS = frozenset({"text", "name"})
"""Kinds of columns that hold words."""
_NAME = 12
"""Characters of a name that a table keeps on one line."""
_WIDE = 500
"""Characters in a line where there is no terminal to tell."""
STATUSES = ("ok", "repaired", "asked_again", "refused", "truncated", "invalid", "http_error")
"""What can become of a question to a model."""
_READINGS = {"text_bytes": "text by byte", "text_pmi": "text, PMI"}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Reporter:
    """Tells a person how a build goes; a `Watcher`.

    With a `name`, several may share a console: each puts its name before its lines, and none draws bars.
    """

    def __init__(self, console: Console, *, quiet: bool = False, name: str = "") -> None:
        self._console, self._quiet = console, quiet
        self._name = f"{name}  " if name else ""
        self._draws = console.is_terminal and not quiet and not name
        self._bar: Progress | None = None
        self._status: Spinner | None = None
        self._task: TaskID | None = None
        self._done = self._dropped = self._failed = self._total = 0
        self._said = 0.0
        self._usage: UsageOf | None = None

    def begins(self, usage: UsageOf) -> None:
        """Take what tells the calls and tokens spent so far."""
        self._usage = usage

    def prepares(self, stage: AnyStage) -> None:
        """Say which stage is being prepared: encoding a large corpus takes minutes."""
        if self._draws:
            self._status = self._console.status(f"{stage.name}: preparing")
            self._status.start()

    def starts(self, stage: AnyStage, rows: int, changes: list[str], calls: int | None) -> None:
        """Announce a stage: what changed, and how many model calls it will make."""
        self.stops()
        self._done = self._dropped = self._failed = 0
        self._total, self._said = rows, time.monotonic()
        if self._quiet:
            return
        for change in changes:
            self._say(f"  {stage.name}: changed {change}", style="dim")
        if calls:
            self._say(f"  {stage.name}: {calls} model calls are new", style="dim")
        if self._draws:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[spent]}"),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(stage.name, total=rows, spent="")

    def row(self, stage: AnyStage, outcome: Outcome) -> None:
        """Count one row."""
        self._done += 1
        self._dropped += isinstance(outcome, Dropped)
        self._failed += isinstance(outcome, Failed)
        if self._quiet:
            return
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, spent=self._spent())
        elif time.monotonic() - self._said > _EVERY_S:
            self._said = time.monotonic()
            self._say(f"  {stage.name}: {self._done}/{self._total} rows, {self._spent()}")

    def notes(self, text: str) -> None:
        """Say what happened, above whatever is drawn."""
        if not self._quiet:
            self._say(f"  {text}", style="yellow")

    def ends(self, state: StageState, *, fresh: bool) -> None:
        """Close the stage with its account."""
        self.stops()
        if not self._quiet:
            self._say(account(state) + ("" if fresh else "  (up to date)"))
            for remark in state.remarks if fresh else ():
                self._say(f"  {remark}", style="dim")

    def stops(self) -> None:
        """Take away whatever is still drawn; the build is over, well or not."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    def _say(self, line: str, *, style: str = "") -> None:
        self._console.print(Text(harmless(f"{self._name}{line}"), style=style), soft_wrap=True)

    def _spent(self) -> str:
        if self._usage is None:
            return ""
        usage = self._usage()
        return f"{usage.calls} calls, {usage.prompt_tokens + usage.completion_tokens} tokens"


class EvaluationReporter:
    """Tells a person how an evaluation goes; a `Watcher` of evaluations."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self._console, self._quiet = console, quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._name = ""
        self._done = self._total = self._failed = 0
        self._said = 0.0

    def starts(self, subject: Subject, benchmark: Benchmark, method: str, requests: int) -> None:
        """Announce what is asked of whom."""
        self.stops()
        self._name = f"{subject.name}  {benchmark.name}  {method}"
        self._done, self._failed, self._total, self._said = 0, 0, requests, time.monotonic()
        if self._console.is_terminal and not self._quiet:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[failed]}"),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(harmless(self._name), total=requests, failed="")

    def answered(self, statuses: Sequence[Status]) -> None:
        """Count one request."""
        self._done += 1
        self._failed += sum(status == "failed" for status in statuses)
        failed = f"{self._failed} failed" if self._failed else ""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, advance=1, failed=failed)
        elif not self._quiet and time.monotonic() - self._said > _EVERY_S:
            self._said = time.monotonic()
            self._say(f"  {self._name}: {self._done}/{self._total} requests {failed}".rstrip())

    def ends(self, result: Result) -> None:
        """Close a result with its account."""
        self.stops()
        if not self._quiet:
            counted = ", ".join(f"{count} {status}" for status, count in result.statuses.items())
            benchmark = result.benchmark.rpartition("-")[0]
            self._say(f"{result.subject.name}  {benchmark}  {_condition(result.condition)}: {counted}")
            for note in result.notes:
                self._say(f"  {note}", style="dim")

    def measures(self, benchmark: Benchmark) -> None:
        """Say what takes so long once all are asked."""
        if not self._quiet:
            self._say(f"{benchmark.name}  measuring, once, what the options alone give away", style="dim")

    def stops(self) -> None:
        """Take away whatever is still drawn."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = self._task = None

    def _say(self, line: str, *, style: str = "") -> None:
        self._console.print(Text(harmless(line), style=style), soft_wrap=True)


def print_evaluation(console: Console, done: Evaluation) -> None:
    """The results in brief, what could not be asked, and what it has cost."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("model", "benchmark", "asked by", "answered", "right of these", "of all", "chance"):
        table.add_column(
            name, justify="left" if name in {"model", "benchmark", "asked by"} else "right", overflow="fold"
        )
    for score in done.scores:
        result = score.result
        table.add_row(
            foreign(result.subject.name),
            foreign(result.benchmark.rpartition("-")[0]),
            _condition(result.condition),
            f"{result.statuses.get('answered', 0)}/{sum(result.statuses.values())}",
            "–" if score.accuracy is None else f"{score.accuracy:.3f}",
            f"{score.accuracy_all:.3f}",
            f"{score.chance:.3f}",
        )
    if done.scores:
        console.print(table)
    for problem in done.problems:
        console.print(Text(harmless(f"not asked: {problem}"), style="bold"), soft_wrap=True)
    for name, usage in done.calls.items():
        console.print(Text(harmless(usage_line(name, usage))), soft_wrap=True)
    if done.scores:
        console.print(f"results: {done.folder}; intervals and more with: adage analyse {done.folder}", soft_wrap=True)


def _condition(condition: Condition) -> str:
    """A condition, as far as it differs from the usual."""
    parts = [_READINGS.get(condition.method, condition.method)]
    parts += [f"{condition.prompt} prompt"] if condition.prompt != "native" else []
    parts += ["native labels"] if condition.labels != "latin" else []
    parts += ["choices only"] if condition.shown != "full" else []
    return ", ".join(parts)


def account(state: StageState) -> str:
    """One stage's account on one line."""
    counts = state.counts
    line = (
        f"{state.stage:9} in {counts.rows_in} = kept {counts.kept} + dropped {counts.dropped} + failed {counts.failed}"
    )
    if counts.made != counts.kept:
        line += f", made {counts.made}"
    if counts.short:
        line += f", short {counts.short}"
    return line


def funnel(states: Sequence[StageState]) -> Table:
    """The funnel of a run: a row a stage."""
    table = Table(title=None, box=None, pad_edge=False, header_style="bold")
    for name in ("stage", "in", "kept", "dropped", "failed", "made"):
        table.add_column(name, justify="left" if name == "stage" else "right")
    table.add_column("dropped because of")
    stale = outdated(states)
    for state in states:
        counts = state.counts
        reasons = ", ".join(
            f"{reason} {n}" for reason, n in sorted(counts.reasons.items(), key=lambda x: (-x[1], x[0]))
        )
        numbers = (counts.rows_in, counts.kept, counts.dropped, counts.failed, counts.made)
        name = f"{state.stage} (of an earlier build)" if state.stage in stale else state.stage
        table.add_row(name, *(str(n) for n in numbers), Text(harmless(reasons)))
    return table


def print_status(console: Console, states: Sequence[StageState]) -> None:
    """The funnel, what became of the questions to models, and what each stage remarked on."""
    console.print(funnel(states))
    if any(state.counts.calls for state in states):
        console.print()
        console.print(questions_table(states))
    for state in states:
        for remark in state.remarks:
            console.print(Text(f"{state.stage}: {harmless(remark)}"), soft_wrap=True)


def questions_table(states: Sequence[StageState]) -> Table:
    """What became of the questions to each model, by stage."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stage")
    table.add_column("model")
    for status in STATUSES:
        table.add_column(status.replace("_", " "), justify="right")
    for state in states:
        for model, counts in state.counts.calls.items():
            table.add_row(state.stage, Text(model), *(str(counts.get(status, 0)) for status in STATUSES))
    return table


def print_messages(console: Console, messages: Sequence[Message]) -> None:
    """A prompt, message by message."""
    for message in messages:
        console.print(Text(f"── {message.role} ──", style="bold"))
        console.print(Text(harmless(message.content)), soft_wrap=True)


def foreign(text: str) -> Text:
    """Text from a corpus or a model: harmless, and isolated so that its direction does not shuffle the line."""
    return Text(_apart(text))


def print_items(console: Console, items: Sequence[Item]) -> None:
    """Items as a person would be asked them, with the gold marked and the role of every option."""
    for item in items:
        console.print(Text(f"{item.id}  {item.assembly}, {item.split}", style="bold"))
        console.print(foreign(item.scenario))
        for place, option in enumerate(item.options):
            print_option(console, place, option.text, option.role, gold=place == item.answer)
        console.print()


def print_option(console: Console, place: int, text: str, role: str, *, gold: bool) -> None:
    """One option on a line, the gold marked."""
    line = Text(f" {'→' if gold else ' '} {_LETTERS[place]}) ")
    line.append_text(foreign(text))
    line.append(f"   {role.replace('_', ' ')}", style="dim")
    console.print(line)


def print_story(console: Console, found: Sequence[Appearance]) -> None:
    """Everything that became of a record, stage by stage, with its checks."""
    for seen in found:
        row = seen.row
        why = f": {harmless(seen.why)}" if seen.why else ""
        console.print(Text(f"{seen.folder}  {row.get('id', '')}  {seen.outcome}{why}", style="bold"))
        for field in ("text", "scenario", "explanation", "gloss", "place", "by", "domain", "group"):
            if value := row.get(field):
                line = Text(f"  {field}: ")
                line.append_text(foreign(str(value)))
                console.print(line)
        if theme := row.get("theme"):
            shown = ", ".join(str(theme[part]) for part in ("label", "name") if theme.get(part))
            console.print(Text("  theme: ").append_text(foreign(shown)))
        for place, option in enumerate(row.get("options", ())):
            if isinstance(option, dict):
                print_option(console, place, option["text"], option["role"], gold=place == row.get("answer", 0))
        for check in row.get("checks", ()):
            verdict = {True: "pass", False: "FAIL", None: "undecided"}[check.get("passed")]
            score = "" if check.get("score") is None else f" {check['score']}"
            line = Text(f"  {verdict:9} {check['name']}{score} ")
            if evidence := check.get("evidence"):
                line.append_text(foreign(evidence))
            line.append(f" ({harmless(check.get('by', 'adage'))})", style="dim")
            console.print(line)
        if seen.evidence:
            console.print(Text("  evidence: ").append_text(foreign(seen.evidence)))


def controls_table(controls: Mapping[str, Sequence[Control]]) -> Table:
    """What the options give away, by assembly."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("assembly", "guesser", "looks at", "accuracy", "95 % interval", "n", "chance"):
        table.add_column(name, justify="left" if name in {"assembly", "guesser", "looks at"} else "right")
    for assembly, found in controls.items():
        for control in found:
            inside = control.low <= control.chance <= control.high
            table.add_row(
                assembly,
                control.name,
                control.space,
                f"{control.accuracy:.3f}",
                f"{control.low:.3f} – {control.high:.3f}",
                str(control.n),
                f"{control.chance:.3f} {'inside' if inside else 'outside'}",
            )
    return table


def judges_table(judges: Sequence[JudgeRates]) -> Table:
    """What each judge passed, and whether it tells bad items from good ones."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("judge", "items", "fits", "plausible", "fluent", "known-bad caught", "items failed"):
        table.add_column(name, justify="left" if name == "judge" else "right")
    for rates in judges:
        passed = (str(rates.passed[name]) for name in ("fits", "plausible", "fluent"))
        caught = f"{rates.caught} of {rates.probes}"
        table.add_row(rates.judge, str(rates.judged), *passed, caught, str(rates.false_alarms))
    return table


def print_demo(console: Console, results: Sequence[DemoResult]) -> None:
    """Funnel, sample items, option-only controls, judges and places of each benchmark."""
    for result in results:
        console.print()
        console.rule(f"CAPR-{result.language}")
        console.print(funnel(result.states))
        console.print()
        print_items(console, result.items)
        console.print(Text("What the options give away (guessers that never see the scenario)", style="bold"))
        console.print(controls_table(result.controls))
        console.print()
        console.print(Text("The embedded judge (far too small to be trusted: it drops nothing)", style="bold"))
        console.print(judges_table(result.judges))
        console.print()
        console.print(f"{result.seconds:.0f} s. Benchmark and card: {result.benchmark}")


def print_analysis(console: Console, analysed: Analysed, layout: Layout = "rich") -> None:
    """The tables of an analysis; on a terminal, long ones in part, and each with how to read it."""
    if not console.is_terminal:
        console = Console(file=console.file, width=_WIDE, highlight=False, markup=False, emoji=False)
    for number, table in enumerate(analysed.analysis.tables):
        rows = _ROWS if number else 10 * _ROWS
        if layout == "csv":
            console.file.write(f"# {table.key}\n{tables.to_csv(table)}\n")
        elif layout == "markdown":
            console.file.write(f"{tables.to_markdown(table)}\n")
        else:
            console.print(Text(harmless(table.title), style="bold"))
            console.print(analysis_table(table, rows, console.width))
            if (more := len(table.rows) - rows) > 0:
                console.print(f"… {more} more rows: write them to files with --out")
            console.print(Text(harmless(table.note), style="dim"))
            console.print()
    if layout == "rich":
        for note in analysed.analysis.notes:
            console.print(Text(harmless(f"note: {note}")))
        if analysed.files:
            kinds = Counter(file.suffix.removeprefix(".") for file in analysed.files)
            written = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            console.print(f"wrote {written} to {analysed.folder}", soft_wrap=True)


def analysis_table(table: tables.Table, rows: int, width: int) -> Group:
    """The first rows of a table of an analysis; what is the same in every row stands below it once.

    Columns without anything in them are left out. A number stays on one line with its interval where `width`, in
    cells, allows it.
    """
    cells = {column.key: {row[column.key] for row in table.rows} for column in table.columns}
    kept = [column for column in table.columns if not column.detail and cells[column.key] - {None, ""}]
    same = [column for column in kept if len(table.rows) > 1 and len(cells[column.key]) == 1]
    said = [f"{column.title}: {tables.shown(table.rows[0][column.key], column.kind)}" for column in same]
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    kept = [column for column in kept if column not in same]
    for column, wide in zip(kept, _widths(kept, table.rows[:rows], width), strict=True):
        justify: Literal["left", "right"] = "left" if column.kind in _WORDS else "right"
        drawn.add_column(column.title, justify=justify, overflow="fold", width=wide)
    for row in table.rows[:rows]:
        drawn.add_row(*(Text(tables.shown(row[column.key], column.kind)) for column in kept))
    return Group(drawn, *([Text("; ".join(said), style="dim")] if said else []))


def _widths(
    columns: Sequence[tables.Column], rows: Sequence[Mapping[str, tables.Cell]], width: int
) -> list[int | None]:
    """Cells for each column; None, and so what rich makes of it, where there is no room for all.

    Titles are folded between words, and names anywhere, but numbers stay beside their intervals.
    """
    least, most = [], []
    for column in columns:
        cells = [cell_len(tables.shown(row[column.key], column.kind)) for row in rows]
        longest = max(map(cell_len, column.title.split()))
        least.append(max(longest, min(_NAME, max(cells)) if column.kind in _WORDS else max(cells)))
        most.append(max(cell_len(column.title), *cells))
    spare = width - sum(least) - 2 * (len(columns) - 1)
    if spare < 0:
        return [None] * len(columns)
    # Names first: a title is easier to read on two lines than a name.
    order = sorted(range(len(columns)), key=lambda place: columns[place].kind not in _WORDS)
    more = dict.fromkeys(order, 0)
    for place in order:
        more[place] = min(spare, most[place] - least[place])
        spare -= more[place]
    return [least[place] + more[place] for place in range(len(columns))]


def languages_table(found: Sequence[Summary]) -> Table:
    """The packs, a row each."""
    table = Table("code", "name", "in the language", "script", "direction", "sureness", box=None)
    for pack in found:
        table.add_row(
            pack.code, pack.name, _apart(pack.native_name), "+".join(pack.scripts), pack.direction, pack.sureness
        )
    return table


def print_language(console: Console, found: Facts) -> None:
    """What is known of a language, a line each; its own words isolated, so that they turn no line around."""
    for name, value in msgspec.to_builtins(found).items():
        if isinstance(value, dict):
            shown = "".join(f"\n  {key}: {_apart(text)}" for key, text in value.items())
        elif isinstance(value, (list, tuple)):
            shown = " ".join(map(_apart, value))
        else:
            shown = _apart(str(value))
        console.print(f"{name.replace('_', ' ')}: {shown}".rstrip(), soft_wrap=True)
    if found.sureness == "derived":
        console.print(f"derived from CLDR alone; a pack says more: adage languages new {found.code}", soft_wrap=True)


def _apart(text: str) -> str:
    """A text isolated where its direction might matter."""
    return harmless(text) if text.isascii() else isolate(text)


def print_checked(console: Console, checked: Sequence[Checked]) -> None:
    """What the check of each pack found."""
    for pack in checked:
        count = pack.identified
        found = f"{len(pack.faults)} faults" if pack.faults else "holds"
        console.print(
            f"{pack.code}: {found} ({pack.examples} examples; sentences identified: {count.right} right, "
            f"{count.wrong} wrong, {count.unsure} not known)",
            soft_wrap=True,
        )
        for fault in pack.faults:
            console.print(f"  {harmless(fault)}", soft_wrap=True)
