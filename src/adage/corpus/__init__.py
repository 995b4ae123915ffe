"""Readers of people's corpora: every record accounted for, nothing believed unseen."""

from adage.corpus.dedupe import groups, merge
from adage.corpus.inspect import Inspection, inspect
from adage.corpus.read import Reading, ReadOptions, read
from adage.corpus.source import source

__all__ = ["Inspection", "ReadOptions", "Reading", "groups", "inspect", "merge", "read", "source"]
