"""How plans and accounts of model calls are shown: calls, tokens, money and time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from adage.accounts import Spent
from adage.builder import Built
from adage.forecast import BYTES_PER_TOKEN, Forecast
from adage.planner import StagePlan
from adage.store.recorded import Usage


def plan_table(plans: Sequence[StagePlan]) -> RenderableType:
    """A plan, a row a stage, and below it what is a bound, what an estimate, and how good it is."""
    table = _table(("stage",), ("rows", "new\ncalls", "in\njournal", "prompt\ntokens", "reply\ntokens", "US$", "time"))
    for row in plans:
        bound = "" if row.exact else "≤ "
        calls = "up to date" if row.up_to_date else f"{bound}{row.calls:,}" if row.calls else "0"
        table.add_row(row.stage, f"{bound}{row.rows:,}", calls, f"{row.stored:,}", *_figures(row))
    asking = [row for row in plans if row.calls]
    if len(asking) > 1:
        bound = "" if all(row.exact for row in asking) else "≤ "
        total = _summed(asking)
        stored = sum(row.stored for row in plans)
        table.add_row("all", "", f"{bound}{total.calls:,}", f"{stored:,}", *_figures(total), style="bold")
    return Group(table, *(Text(line, style="dim") for line in _explained(asking)))


def _explained(asking: Sequence[StagePlan]) -> list[str]:
    """What the signs in a plan mean, as far as they are in it."""
    if not asking:
        return []
    lines = ["≈ is an estimate for the calls beside it."]
    if unsure := [row.stage for row in asking if not row.exact]:
        lines[0] = "≤ is an upper bound: as if no row were dropped. " + lines[0]
        lines.append(
            f"{_listed(unsure)}: what will be asked is not known yet; prompts written from proverbs are counted."
        )
    lines += _bases({row.stage: row for row in asking})
    unknown = any(row.seconds is None for row in asking)
    why = "Where it is unknown, no build in this run folder has asked the same models. " if unknown else ""
    lines.append(f"Time is that of the model calls. {why}The encoder and other local work come on top.")
    return lines


def _bases(parts: Mapping[str, Forecast]) -> list[str]:
    """What the estimates of each stage rest on, and how far they may be off; stages with the same basis together."""
    stages: dict[str, list[str]] = {}
    for stage, part in parts.items():
        stages.setdefault(_basis(part), []).append(stage)
    lines = [f"{_listed(names)}: {basis}." for basis, names in stages.items()]
    if any(not part.known and not part.tokenizers for part in parts.values()):
        lines.append(
            f"{BYTES_PER_TOKEN} bytes hold for multilingual tokenizers; one made for English needs up to three times "
            "as many tokens outside Latin script."
        )
    return lines


def _basis(of: Forecast) -> str:
    prompts, replies = f"within {max(of.prompt_error, 0.01):.0%}", f"within {of.reply_error:.0%}"
    if of.known:
        return f"by {of.known:,} calls of earlier builds; prompt tokens {prompts}, reply tokens {replies}"
    way = "by the model's own tokenizer" if of.tokenizers else f"of {BYTES_PER_TOKEN} bytes each"
    return f"prompt tokens {way}, {prompts}; reply tokens of usual answers without thinking, {replies}"


def spent_table(spent: Sequence[Spent]) -> RenderableType:
    """What each stage was expected to need, and below it what it has needed."""
    parts = [part for part in spent if part.announced or part.calls]
    cached = any(part.cached_tokens for part in parts)
    names = ["calls", "prompt\ntokens", *(["of these\ncached"] if cached else []), "reply\ntokens", "US$", "time"]
    table = _table(("stage", ""), names)
    for part in parts:
        if part.planned is not None:
            calls, prompt, *others = f"{part.planned.calls:,}", *_figures(part.planned)
            table.add_row(part.stage, "planned", calls, prompt, *([""] if cached else []), *others, style="dim")
        table.add_row(
            "" if part.planned else part.stage,
            "true",
            f"{part.calls:,}",
            _tokens(part.prompt_tokens),
            *([_share(part.cached_tokens, part.prompt_tokens)] if cached else []),
            _tokens(part.completion_tokens),
            _money(part.usd),
            _time(part.seconds),
        )
    lines = _bases({part.stage: part.planned for part in parts if part.planned is not None})
    if lines:
        lines.insert(0, "≈ is what was planned when the stage began.")
    return Group(table, *(Text(line, style="dim") for line in lines))


def print_built(console: Console, built: Built) -> None:
    """What a build has called and spent, ended well or not; where it ended well, also what it made."""
    asked = any(part.calls or part.announced for part in built.spent)
    if built.error and not asked:
        return
    if asked:
        console.print(spent_table(built.spent))
    for line in usage_lines(built.calls):
        console.print(line, soft_wrap=True)
    if not built.error:
        console.print(f"benchmark: {built.benchmark}" if built.benchmark else f"run: {built.run}", soft_wrap=True)


def _summed(parts: Sequence[Forecast]) -> Forecast:
    """Several forecasts as one; what is unknown of one is unknown of all."""
    usd, seconds = [part.usd for part in parts], [part.seconds for part in parts]
    return Forecast(
        calls=sum(part.calls for part in parts),
        prompt_tokens=sum(part.prompt_tokens for part in parts),
        completion_tokens=sum(part.completion_tokens for part in parts),
        usd=None if None in usd else sum(filter(None, usd)),
        seconds=None if None in seconds else sum(filter(None, seconds)),
    )


def usage_lines(calls: Mapping[str, Mapping[str, int | float | None]]) -> list[str]:
    """Calls, tokens and money of each model, for the end of a build."""
    return [usage_line(name, msgspec.convert(usage, Usage)) for name, usage in calls.items()]


def usage_line(name: str, usage: Usage) -> str:
    """Calls, tokens and money of one model."""
    line = (
        f"{name}: {usage.calls} calls made, {usage.stored} taken from the journal, "
        f"{usage.prompt_tokens} + {usage.completion_tokens} tokens"
    )
    if usage.cached_tokens:
        line += f" ({_share(usage.cached_tokens, usage.prompt_tokens)} of the prompts from the server's prefix cache)"
    if usage.usd is None:
        return f"{line}, price unknown"
    return f"{line}, US$ {usage.usd:.4f}" if usage.usd else line


def _share(part: int, whole: int) -> str:
    """A share in percent; nothing where there is no whole."""
    return f"{part / whole:.0%}" if whole else ""


def _table(words: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(box=None, pad_edge=False, collapse_padding=True, header_style="bold")
    for name in words:
        table.add_column(name)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True, overflow="fold")
    return table


def _figures(of: Forecast) -> tuple[str, ...]:
    """Tokens of prompts and replies, money and time as they are expected."""
    if not of.calls:
        return "0", "0", "0", "0"
    tokens = (f"≈ {_tokens(_rounded(count))}" for count in (of.prompt_tokens, of.completion_tokens))
    money, time = _money(of.usd), _time(of.seconds)
    return (
        *tokens,
        money if of.usd is None or not of.usd else f"≈ {money}",
        time if of.seconds is None else f"≈ {time}",
    )


def _rounded(count: int) -> int:
    """Three figures of a count: more would be claimed than is known."""
    return int(float(f"{count:.3g}"))


def _tokens(count: int) -> str:
    """A count of tokens, from ten millions on in millions.

    >>> _tokens(9_876_543), _tokens(1_234_567_890)
    ('9,876,543', '1,234.6 M')
    """
    return f"{count:,}" if count < 10_000_000 else f"{count / 1e6:,.1f} M".replace(".0 M", " M")


def _money(usd: float | None) -> str:
    if usd is None:
        return "unknown"
    return f"{usd:,.0f}" if usd >= 1000 else f"{usd:.2f}" if usd >= 1 or not usd else f"{usd:.4f}"


def _time(seconds: float | None) -> str:
    """A time in the unit that suits it.

    >>> _time(None), _time(0.42), _time(75), _time(4000), _time(400_000)
    ('unknown', '0.4 s', '75 s', '67 min', '4.6 days')
    """
    if seconds is None:
        return "unknown"
    for unit, size, most in (("s", 1, 100), ("min", 60, 6000), ("h", 3600, 172_800)):
        if seconds < most:
            value = seconds / size
            return f"{value:.1f} {unit}" if value < 10 else f"{value:.0f} {unit}"
    return f"{seconds / 86_400:.1f} days"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
