"""How far native speakers have looked at a benchmark, counted from its records."""

from __future__ import annotations

from collections.abc import Sequence

from adage.records import Item, Record


class AuditCount(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Items with a native speaker's verdict, and who gave them."""

    items: int
    audited: int
    """Items of which the scenario or the item itself carries a verdict."""
    annotators: tuple[str, ...]

    @property
    def status(self) -> str:
        """`audited`, `partly audited` or `not audited`."""
        if self.audited == 0:
            return "not audited"
        return "audited" if self.audited == self.items else "partly audited"


def count_audit(items: Sequence[Item]) -> AuditCount:
    """Count the audit checks of items."""
    annotators = {check.by for item in items for check in item.checks if check.name == "audit"}
    audited = sum(any(check.name == "audit" for check in item.checks) for item in items)
    return AuditCount(items=len(items), audited=audited, annotators=tuple(sorted(annotators)))
