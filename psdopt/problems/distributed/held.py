"""Objects that the parts of a sum keep while somebody in this process holds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol
from weakref import WeakValueDictionary


class Keeper(Protocol):
    """The sum whose parts keep the objects: those `held` by key, and the `dead` keys, to forget at the next request."""

    keys: Iterator[int]
    held: WeakValueDictionary[int, Held]
    dead: list[int]

    def total(self, name: str, *arguments: Any) -> Any: ...


class Held:
    """An object that the parts keep under `key`, and the `request` (method, arguments) that rebuilds it from Y."""

    def kept(self, parts: Keeper, key: int, name: str, *arguments: Any) -> None:
        """Set the members; `arguments` follow `key`."""
        self.parts, self.key, self.request = parts, key, (name, (key, *arguments))
        parts.held[key] = self

    def made(self, parts: Keeper, name: str, *arguments: Any) -> Any:
        """The sum of what the parts answer when they make and keep the object. One round."""
        self.kept(parts, next(parts.keys), name, *arguments)
        return parts.total(name, self.key, *arguments)

    @property
    def there(self) -> int:
        """The key, under which the parts keep the object by now."""
        return self.key

    def __del__(self) -> None:
        self.parts.dead.append(self.key)
