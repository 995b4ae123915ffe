"""The pipeline: the seven stages of the paper, in order. This is the architecture on one screen.

Source ─acquire→ Proverb ─label→ +Theme ─cluster→ +cluster, name ─generate→ Scenario ─filter→ +Checks
       ─distract→ Item ─validate→ +Checks ─curate→ Item with split and positions
"""

from __future__ import annotations

from typing import NamedTuple

from adage.cast import Cast
from adage.engine.run import AnyStage
from adage.errors import RecipeError
from adage.language import Language
from adage.models.lid import identifier, slip_check
from adage.recipe import Recipe
from adage.records import Split
from adage.stages.acquire import Acquire
from adage.stages.cluster import Cluster
from adage.stages.curate import Curate
from adage.stages.distract import Distract
from adage.stages.filter import Filter
from adage.stages.generate import Generate
from adage.stages.hand import (
    HandScenario,
    HandTheme,
    ItemVerdict,
    ScenarioVerdict,
    item_verdicts,
    rejected,
    scenario_verdicts,
    scenarios_by_hand,
    themes_by_hand,
)
from adage.stages.label import Label
from adage.stages.splits import read_lock
from adage.stages.validate import Validate

NAMES = ("acquire", "label", "cluster", "generate", "filter", "distract", "validate", "curate")


class ByHand(NamedTuple):
    """What people wrote for a build, read from the files that the recipe names."""

    themes: dict[str, HandTheme]
    scenarios: dict[str, list[HandScenario]]
    scenario_verdicts: dict[str, list[ScenarioVerdict]]
    item_verdicts: dict[str, list[ItemVerdict]]
    lock: dict[str, Split]
    """Splits of a released version."""


def read_by_hand(recipe: Recipe, language: Language) -> ByHand:
    """Read the files written by hand.

    Raises:
        HandFileError: a file cannot be read.
        RecipeError: a stage has neither a model nor a file to work from.
    """
    _require_means(recipe)
    return ByHand(
        themes=themes_by_hand(recipe.cluster.themes, language),
        scenarios=scenarios_by_hand(recipe.generate.scenarios, language),
        scenario_verdicts=scenario_verdicts(recipe.audit.scenarios),
        item_verdicts=item_verdicts(recipe.audit.items),
        lock=read_lock(recipe.curate.lock),
    )


def stages(recipe: Recipe, cast: Cast, by_hand: ByHand, *, recalibrate: bool = False) -> list[AnyStage]:
    """The stages of a recipe, in order, with their models and files."""
    language, unit = cast.language, recipe.unit.name
    words = (recipe.unit.word,) if recipe.unit.word else language.words.unit
    return [
        Acquire(recipe.acquire, language=language),
        Label(
            mode=recipe.cluster.label,
            model=cast.labeller,
            hand=by_hand.themes,
            unit=unit,
            language=language,
        ),
        Cluster(k=recipe.cluster.k, encoder=cast.encoder, namer=cast.namer, freeze=recipe.cluster.freeze),
        Generate(
            n=recipe.generate.n,
            per_call=recipe.generate.per_call,
            model=cast.generator,
            hand=by_hand.scenarios,
            unit=unit,
            word=recipe.unit.word or language.words.name,
            language=language,
            slipped=slip_check(identifier(), language),
            identifier=cast.identifier,
        ),
        Filter(
            recipe.filter,
            language=language,
            words=words,
            encoder=cast.encoder,
            agrees=cast.agrees,
            identifier=cast.identifier,
            verdicts=by_hand.scenario_verdicts,
            seed=recipe.seed,
            recalibrate=recalibrate,
        ),
        Distract(
            recipe.distract,
            audit=recipe.audit,
            n_rejected=sum(rejected(verdicts) for verdicts in by_hand.scenario_verdicts.values()),
            shares=recipe.curate.shares,
            min_groups=recipe.curate.min_groups,
            lock=by_hand.lock,
            encoder=cast.encoder,
            language=language.code,
            seed=recipe.seed,
        ),
        Validate(
            recipe.validate_,
            notes=family_notes(recipe),
            judges=cast.judges,
            unit=unit,
            language=language.name,
            seed=recipe.seed,
        ),
        Curate(audit=recipe.audit, verdicts=by_hand.item_verdicts, seed=recipe.seed),
    ]


def family_notes(recipe: Recipe) -> list[str]:
    """Judges that may not be independent: of the generator's family, of one another's, or of none stated."""
    judges = {name: recipe.models[name].family for name in recipe.roles.judges}
    notes = []
    if recipe.roles.generator:
        own = recipe.models[recipe.roles.generator].family
        kin = [name for name, family in judges.items() if family and family == own]
        if kin:
            notes.append(f"{', '.join(kin)} judging what their own model family ({own}) wrote")
    stated = [family for family in judges.values() if family]
    if len(set(stated)) < len(stated):
        notes.append("judges share a model family: their errors may agree")
    return notes


def _require_means(recipe: Recipe) -> None:
    problems = []
    if recipe.cluster.label == "model" and not recipe.roles.labeller and not recipe.cluster.themes:
        problems.append(
            "cluster: no labels can be had: name a model under roles.labeller, a file under cluster.themes, "
            "or set cluster.label: none"
        )
    if not recipe.roles.generator and not recipe.generate.scenarios:
        problems.append(
            "generate: no scenarios can be had: name a model under roles.generator or a file under generate.scenarios"
        )
    if problems:
        raise RecipeError("the recipe leaves stages without a model and without a file:", problems=problems)
