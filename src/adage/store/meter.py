"""What one build spends on model calls, and where it must stop."""

from __future__ import annotations

from adage.errors import LimitReached
from adage.models.base import ChatReply
from adage.recipe import Budget, Price

FREE = Price(input_usd=0, output_usd=0)
"""Price of a model that nobody charges for, such as one inside the process."""


def cost_usd(price: Price, reply: ChatReply) -> float:
    """US dollars that a reply has cost."""
    return (reply.prompt_tokens * price.input_usd + reply.completion_tokens * price.output_usd) / 1e6


class Meter:
    """Adds up what all models of a build spend, and refuses further calls once the budget is used up.

    The number of calls is never exceeded. What calls in flight will cost is not known yet: each counts as the mean of
    those before it, so tokens and money end near the limit, and above it by at most what was in flight.
    """

    def __init__(self, budget: Budget | None = None) -> None:
        self.calls = 0
        """Calls begun."""
        self.tokens = 0
        self.usd = 0.0
        self._budget = budget or Budget()
        self.exhausted = False
        """Whether a call has been refused; from then on all are."""
        self._in_flight = 0
        self.must_know_costs = self._budget.tokens is not None or self._budget.usd is not None
        """Whether what a call has cost decides whether there is another."""

    def begin(self) -> None:
        """Count one call that is about to be made.

        Raises:
            LimitReached: the budget does not allow it; nor will it allow any later one.
        """
        if self.exhausted or self._is_spent():
            self.exhausted = True
            raise self.stopped()
        self.calls += 1
        self._in_flight += 1

    def end(self, tokens: int, usd: float) -> None:
        """Count what a call has needed; nothing where it failed."""
        self._in_flight -= 1
        self.tokens += tokens
        self.usd += usd

    def stopped(self) -> LimitReached:
        """The error that says what was spent, and of how much."""
        spent = (
            ("calls", self.calls, self._budget.calls),
            ("tokens", self.tokens, self._budget.tokens),
            ("US$", round(self.usd, 4), self._budget.usd),
        )
        stated = ", ".join(f"{used:,} of {limit:,} {unit}" for unit, used, limit in spent if limit is not None)
        return LimitReached(
            f"the budget of this build is used up: {stated}",
            hint="every reply is stored: run the same command again to go on with a fresh budget, or raise `budget`",
        )

    def _is_spent(self) -> bool:
        finished = self.calls - self._in_flight
        foreseen = self.calls / finished if finished else 1.0
        budget = self._budget
        return (
            (budget.calls is not None and self.calls >= budget.calls)
            or (budget.tokens is not None and self.tokens * foreseen >= budget.tokens)
            or (budget.usd is not None and self.usd * foreseen >= budget.usd)
        )
