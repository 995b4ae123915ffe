"""Several endpoints that serve one model: calls go to the one with most room, and to another when it fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from adage.errors import BadRequest, ModelError, RecipeError
from adage.models.base import ChatReply, ChatRequest, Message
from adage.models.chat import EndpointModel


class PoolModel:
    """A chat model with several addresses.

    Whoever puts endpoints into a pool says that they serve the same model, so a reply is stored without the address
    that gave it: the key holds `pool` as the family, the first member's model id, and the sampling, which all members
    share. Members may be added, taken away and reordered behind the first without paying anything twice.

    Raises:
        RecipeError: the members do not sample alike.
    """

    def __init__(self, name: str, members: Sequence[EndpointModel]) -> None:
        self.name = name
        self._all = tuple(members)
        self._first = members[0]
        self._usable = list(members)
        self.tell: Callable[[str], None] = lambda _: None
        """Told, once each, which members are left out and why."""
        self._given: Counter[str] = Counter()
        """Calls in the hands of each member, by its name."""
        shapes = [msgspec.structs.replace(member.request((), None), model="", family="") for member in members]
        for member, shape in zip(members, shapes, strict=True):
            if shape != shapes[0]:
                raise RecipeError(
                    f"the members {members[0].name!r} and {member.name!r} of the pool {name!r} do not sample alike",
                    hint="give them the same temperature, top_p, max_tokens, seed and extra",
                )

    def request(
        self, messages: Sequence[Message], schema: dict[str, Any] | None, *, sample: int = 0, attempt: int = 0
    ) -> ChatRequest:
        """The request as it is stored, whichever member answers; pure."""
        request = self._first.request(messages, schema, sample=sample, attempt=attempt)
        return msgspec.structs.replace(request, family="pool")

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Send one request to the least busy member, and on to the next where that one fails.

        A member that refuses the key, or cannot be reached, is left out from then on.

        Raises:
            BadRequest: a member refused this one request; the others would do the same.
            ModelError: no member answered.
        """
        left, faults = list(self._usable), list[ModelError]()
        while left:
            member = min(left, key=self._load)
            left.remove(member)
            try:
                return await self._ask(member, request)
            except BadRequest:
                raise
            except ModelError as error:
                faults.append(error)
                if error.fatal and member in self._usable and len(self._usable) > 1:
                    self._usable.remove(member)
                    self.tell(f"{self.name}: {member.name} is left out from here on: {error.message}")
        raise next((fault for fault in faults if not fault.fatal), faults[-1])

    def body(self, request: ChatRequest) -> dict[str, Any]:
        """The JSON body that the first member is sent."""
        return self._first.body(request)

    async def close(self) -> None:
        """Close the connections of all members."""
        for member in self._all:
            await member.close()

    async def _ask(self, member: EndpointModel, request: ChatRequest) -> ChatReply:
        own = member.request(request.messages, request.schema, sample=request.sample, attempt=request.attempt)
        self._given[member.name] += 1
        try:
            return await member.chat(own)
        finally:
            self._given[member.name] -= 1

    def _load(self, member: EndpointModel) -> float:
        """Calls in a member's hands, as a share of what it takes at present."""
        return self._given[member.name] / member.endpoint.limits.gate.limit
