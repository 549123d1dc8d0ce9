"""Lists that users may join: policies, worlds and bases, each by its public name.

Something joins by the decorator `register` of its list, or by an entry point of the list's group
in the package that has it; the command line finds the latter without any import. What is in a
list can be restored from snapshots, described in specs and sweeps, and is simulated by `advise`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from typing import Any, TypeVar

from trimtab.errors import InvalidInput

T = TypeVar("T")
LONGEST = 60  # characters of a word that are compared
MOST = 20  # words to choose from that one message lists


class Registry(Mapping[str, Any]):
    """What goes by which name.

    >>> greetings = Registry("greeting", group="example.greetings")
    >>> @greetings.register
    ... def hello(): ...
    >>> list(greetings), "hello" in greetings
    (['hello'], True)

    Args:
        what: the thing, in one word, for messages.
        group: of the entry points by which packages join.
        homes: the modules that register our own, by name; loaded when the name is asked for.
    """

    def __init__(self, what: str, *, group: str, homes: Mapping[str, str] | None = None) -> None:
        self.what, self.group = what, group
        self._homes = homes or {}
        self._own: dict[str, Any] = {}

    def register(self, thing: T) -> T:
        """Add a class or function under its own name; a decorator.

        Raises:
            InvalidInput: another one has this name.
        """
        name = getattr(thing, "__name__", "")
        known = self._own.get(name, thing)
        taken = self._homes.get(name, _home(thing)[0]) != _home(thing)[0]
        if not name or taken or _home(known) != _home(thing):
            raise InvalidInput(f"there is a {self.what} {name!r} already; choose another name")
        self._own[name] = thing
        return thing

    def remove(self, name: str) -> None:
        """Give back a name that was registered."""
        if self._own.pop(name, None) is None:
            raise self._unknown(name)

    def named(self, name: Any) -> Any:
        """What goes by this name.

        Raises:
            InvalidInput: nothing does.
        """
        if isinstance(name, str) and name in self:
            return self[name]
        raise self._unknown(name)

    def _unknown(self, name: Any) -> InvalidInput:
        return InvalidInput(f"{self.what} {name!r} is unknown; {suggestion(name, self)}")

    def __getitem__(self, name: str) -> Any:
        if name not in self._own and name in self._homes:
            import_module(self._homes[name])
        elif name not in self._own and name in self._points:
            self._own[name] = self._loaded(self._points[name])
        return self._own[name]

    def _loaded(self, point: Any) -> Any:
        """What an entry point names.

        Raises:
            InvalidInput: its package cannot be imported, or has something else there.
        """
        said = f"the entry point {point.name!r} of {self.group} ({point.value})"
        try:
            thing = point.load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(f"{said} cannot be loaded: {error}; mend its package") from error
        if getattr(thing, "__name__", "") != point.name:
            raise InvalidInput(f"{said} must have the name of the class or function; rename it")
        return thing

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self._homes, *self._own, *self._points)))

    def __len__(self) -> int:
        return len({*self._homes, *self._own, *self._points})

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._own or name in self._points

    @cached_property
    def _points(self) -> dict[str, Any]:
        from importlib.metadata import entry_points  # it loads the whole of `email`

        return {point.name: point for point in entry_points(group=self.group)}


def resolver(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """A `__getattr__` for a package: it loads the module of a name when the name is asked for.

    Args:
        package: whose names they are.
        homes: the module of each name.
    """

    def resolve(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(homes[name]), name)
        setattr(import_module(package), name, value)  # the next access does not come here
        return value

    return resolve


def _home(thing: Any) -> tuple[str, str]:
    return thing.__module__, thing.__qualname__


def suggestion(word: object, options: Iterable[str]) -> str:
    """What to write instead of a word that is not among the options.

    >>> suggestion("logg", ["linear", "log"])
    "did you mean 'log'?"
    >>> suggestion("cubic", ["linear", "log"])
    "choose 'linear' or 'log'"
    """
    import difflib  # only for a message

    known = list(options)
    small = {name.lower(): name for name in known}
    near = difflib.get_close_matches(str(word)[:LONGEST].lower(), small, n=1, cutoff=0.6)
    if near:
        return f"did you mean {small[near[0]]!r}?"
    if not known:
        return "there are none to choose from"
    words = [repr(name) for name in known[:MOST]]
    if len(known) > MOST:
        words.append(f"one of {len(known) - MOST} more")
    return "choose " + " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
