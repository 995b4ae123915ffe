"""Where a corpus comes from: `corpus.yaml` beside it, so that licence and consent travel with every row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from adage.errors import CorpusError
from adage.records import Source

FILE_NAME = "corpus.yaml"


def source(path: Path, keys: Mapping[str, object] | None = None) -> Source:
    """The source of a corpus file.

    Args:
        path: The corpus file. A `corpus.yaml` in its folder describes it: the fields of `Source` (`source` is another
            word for `url`), or a map `files` of file names to such fields.
        keys: Fields that go before those of the file, as a recipe gives them.

    Raises:
        CorpusError: `corpus.yaml` is not YAML, or has a field that `Source` has not.
    """
    beside = path.with_name(FILE_NAME)
    fields: dict[str, object] = {"id": path.stem, "title": path.name}
    if beside.is_file():
        fields |= _fields_for(beside, path.name)
    fields |= dict(keys or {})
    if "source" in fields:
        fields["url"] = fields.pop("source")
    unknown = sorted(set(fields) - set(Source.__struct_fields__))
    if unknown:
        raise CorpusError(
            f"{beside}: unknown field {unknown[0]!r}",
            hint=f"known are: {', '.join(Source.__struct_fields__)}, source, files",
        )
    try:
        return msgspec.convert(fields, Source)
    except msgspec.ValidationError as error:
        raise CorpusError(f"{beside}: {error}", hint="texts are expected, and true or false for redistribute") from None


def _fields_for(beside: Path, name: str) -> dict[str, object]:
    try:
        loaded = YAML(typ="safe", pure=True).load(beside.read_text("utf-8"))
    except (YAMLError, UnicodeDecodeError) as error:
        raise CorpusError(f"{beside} is not YAML: {error}", hint="mend it") from None
    if loaded is None:
        return {}
    if not isinstance(loaded, dict):
        raise CorpusError(f"{beside} holds {type(loaded).__name__!r}, not fields", hint="write `title: ...` and so on")
    fields: dict[str, object] = dict(loaded)
    own = fields.pop("files", None) or {}
    chosen = own.get(name, {}) if isinstance(own, dict) else None
    if not isinstance(chosen, dict):
        raise CorpusError(f"{beside}: `files` is not a map of file names to fields", hint="see docs/corpora.md")
    return fields | chosen
