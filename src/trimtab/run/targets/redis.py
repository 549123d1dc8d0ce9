"""Values in Redis: a hash with a field per knob, or a key per knob, set in one command."""

from __future__ import annotations

from typing import Any

import redis

from trimtab.run.faults import TargetFault
from trimtab.run.targets.target import Names, Order, written


class RedisTarget:
    """Sets all values at once, by HSET or MSET.

    Args:
        url: of the server.
        hash: the key of the hash; None: every knob has a key.
        prefix: of these keys.
        names: what knobs are called there.
        timeout: seconds of one command.
    """

    readable = True

    def __init__(
        self, url: str, *, hash: str | None, prefix: str, names: Names, timeout: float
    ) -> None:
        self._hash, self._prefix, self._names = hash, prefix, names
        # Its annotations mix the synchronous and asynchronous answers.
        self._redis: Any = redis.Redis.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            decode_responses=True,
            encoding_errors="replace",  # what is no text is no number either, and is shown
        )

    def push(self, order: Order) -> None:
        """Set all values.

        Raises:
            TargetFault: the server cannot be reached, or refuses.
        """
        texts = {name: written(x) for name, x in self._names.outward(order.values).items()}
        if self._hash is not None:
            self._run("hset", self._hash, mapping=texts)
        else:
            self._run("mset", {self._prefix + name: text for name, text in texts.items()})

    def read(self) -> dict[str, float]:
        """The values that hold now.

        Raises:
            TargetFault: the server cannot be reached, or a value is no number.
        """
        names = [self._names.called.get(knob, knob) for knob in self._names.knobs]
        if self._hash is not None:
            found = self._run("hmget", self._hash, names)
        else:
            found = self._run("mget", [self._prefix + name for name in names])
        return self._names.inward(dict(zip(names, found, strict=True)), "Redis")

    def _run(self, command: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self._redis, command)(*arguments, **options)
        except redis.TimeoutError as error:
            raise TargetFault("timeout", f"Redis does not answer in time: {error}") from None
        except redis.ConnectionError as error:
            raise TargetFault("unreachable", f"Redis cannot be reached: {error}") from None
        except redis.RedisError as error:
            raise TargetFault("refused", f"Redis refuses: {error}") from None

    def close(self) -> None:
        """End the connection."""
        self._redis.close()
