"""The pipeline: the seven stages of the paper, in order. This is the architecture on one screen.

Source ─acquire→ Proverb ─label→ +Theme ─cluster→ +cluster, name ─generate→ Scenario ─filter→ +Checks
       ─distract→ Item ─validate→ +Checks ─curate→ Item with split and positions
"""

from __future__ import annotations

from adage.cast import Cast
from adage.engine.run import AnyStage
from adage.errors import RecipeError
from adage.recipe import Recipe
from adage.stages.acquire import Acquire
from adage.stages.cluster import Cluster
from adage.stages.curate import Curate
from adage.stages.distract import Distract
from adage.stages.filter import Filter
from adage.stages.generate import Generate
from adage.stages.hand import item_verdicts, scenario_verdicts, scenarios_by_hand, themes_by_hand
from adage.stages.label import Label
from adage.stages.splits import read_lock
from adage.stages.validate import Validate

NAMES = ("acquire", "label", "cluster", "generate", "filter", "distract", "validate", "curate")


def stages(recipe: Recipe, cast: Cast, *, recalibrate: bool = False) -> list[AnyStage]:
    """The stages of a recipe, in order, with their models.

    Raises:
        HandFileError: a file written by hand cannot be read.
        RecipeError: a stage has neither a model nor a file to work from.
    """
    _require_means(recipe)
    language, unit = cast.language, recipe.unit.name
    words = (recipe.unit.word,) if recipe.unit.word else language.words.unit
    return [
        Acquire(recipe.acquire, language=language),
        Label(
            mode=recipe.cluster.label,
            model=cast.labeller,
            hand=themes_by_hand(recipe.cluster.themes, language),
            unit=unit,
            language=language,
        ),
        Cluster(k=recipe.cluster.k, encoder=cast.encoder, namer=cast.namer, freeze=recipe.cluster.freeze),
        Generate(
            n=recipe.generate.n,
            per_call=recipe.generate.per_call,
            model=cast.generator,
            hand=scenarios_by_hand(recipe.generate.scenarios, language),
            unit=unit,
            word=words[0] if words else "",
            language=language,
        ),
        Filter(
            recipe.filter,
            language=language,
            words=words,
            encoder=cast.encoder,
            agrees=cast.agrees,
            verdicts=scenario_verdicts(recipe.audit.scenarios),
            seed=recipe.seed,
            recalibrate=recalibrate,
        ),
        Distract(
            recipe.distract,
            audit=recipe.audit,
            shares=recipe.curate.shares,
            min_groups=recipe.curate.min_groups,
            lock=read_lock(recipe.curate.lock),
            encoder=cast.encoder,
            language=language.code,
            seed=recipe.seed,
        ),
        Validate(recipe.validate_, judges=cast.judges, unit=unit, language=language.name, seed=recipe.seed),
        Curate(audit=recipe.audit, verdicts=item_verdicts(recipe.audit.items), seed=recipe.seed),
    ]


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
