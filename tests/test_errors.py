"""The exception tree: exit codes, fatality and messages that a person can act on."""

import inspect

import pytest

from adage import errors
from adage.errors import AdageError, MissingExtra, ModelError, RecipeError, UnparsableReply

KINDS = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, AdageError)]


def test_every_error_is_an_adage_error_with_a_docstring():
    """Whatever ADAGE raises on purpose can be caught by one name, and says in its docstring when it is raised."""
    assert len(KINDS) == len(
        [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, Exception)]
    )
    assert all(kind.__doc__ for kind in KINDS)


def test_exit_codes():
    """1 for rows that failed, 3 for a stop at a limit, 130 for Ctrl-C, 2 for everything else."""
    codes = {kind.__name__: kind.exit_code for kind in KINDS if kind.exit_code != 2}
    assert codes == {"TooManyFailures": 1, "LimitReached": 3, "Interrupted": 130}


def test_only_errors_of_one_request_end_a_row_alone():
    """An endpoint that is down, or refuses the key, stops the build; a bad reply ends its row."""
    rows_only = {kind.__name__ for kind in KINDS if not kind.fatal}
    assert rows_only == {"ModelError", "BadRequest", "EndpointBusy", "BadReply", "UnparsableReply", "CallOwed"}
    assert {kind.__name__ for kind in KINDS if kind.retryable} == {"EndpointBusy", "BadReply"}
    assert all(issubclass(getattr(errors, name), ModelError) for name in rows_only)


def test_the_hint_stands_under_the_message():
    """What to do next is a line of its own, and absent where there is nothing to say."""
    assert str(AdageError("it broke", hint="mend it")) == "it broke\n  mend it"
    assert str(AdageError("it broke")) == "it broke"


def test_a_recipe_error_lists_all_problems():
    """Each fault has its line in the message and its entry in `problems`."""
    error = RecipeError("2 faults:", problems=["one", "two"], hint="read on")
    assert error.problems == ("one", "two")
    assert str(error) == "2 faults:\n  one\n  two\n  read on"


def test_a_missing_package_names_the_extra():
    """The message holds the command that helps."""
    error = MissingExtra("running models", "xllamacpp", "local")
    assert "'xllamacpp'" in str(error)
    assert "pip install 'adage[local]'" in error.hint


@pytest.mark.parametrize("status", ["invalid", "refused", "truncated"])
def test_an_unparsable_reply_keeps_the_raw_text(status):
    """The reply is evidence and stays as it came."""
    error = UnparsableReply("no JSON", reply="  Hm… ", status=status)
    assert (error.reply, error.status) == ("  Hm… ", status)
