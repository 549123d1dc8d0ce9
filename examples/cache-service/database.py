"""Items in PostgreSQL: reading many at once, and changing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import LiteralString, NamedTuple

from psycopg import AsyncConnection
from psycopg.sql import SQL, Composed, Identifier

# What an item shows is partly computed from its sales, which gives the database some work. The
# sleep is what a loopback lacks: the way to a database on another machine.
READ: LiteralString = """
WITH distance AS MATERIALIZED (SELECT pg_sleep(0.001))
SELECT id, version, body,
    (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales WHERE item = id)
FROM {items}, distance WHERE id = ANY(%s)
"""
CHANGE: LiteralString = (
    "UPDATE {items} SET version = version + 1 WHERE id = ANY(%s) RETURNING id, version"
)
SALES_OF_AN_ITEM = 300

Connection = AsyncConnection[tuple[int, int, bytes, float]]


class Item(NamedTuple):
    """A row as the service keeps it."""

    version: int
    body: bytes


class Connections:
    """Connections to one server, opened when none is idle; used by all lanes, one at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._idle: list[Connection] = []

    async def run(self, query: Composed, *arguments: object) -> list[tuple[int, int, bytes, float]]:
        """The rows that a query returns."""
        connection = self._idle.pop() if self._idle else await self._open()
        try:
            cursor = await connection.execute(query, arguments or None, binary=True)
            rows = await cursor.fetchall() if cursor.description else []
        except BaseException:  # cancelled, perhaps in the middle of an answer
            await connection.close()
            raise
        self._idle.append(connection)
        return rows

    async def _open(self) -> Connection:
        connection: Connection = await AsyncConnection.connect(
            self._url, autocommit=True, prepare_threshold=0
        )
        await connection.execute("SET synchronous_commit = off")
        return connection

    async def close(self) -> None:
        """Close all."""
        while self._idle:
            await self._idle.pop().close()

    async def create_sales(self, rows: int) -> None:
        """Make the table that all lanes read and none writes."""
        await self.run(SQL("CREATE UNLOGGED TABLE sales (item int, amount int)").format())
        await self.run(
            SQL(
                "INSERT INTO sales SELECT i, (i * 31 + s * 17) %% 100 "
                "FROM generate_series(0, %s - 1) i, generate_series(1, %s) s"
            ).format(),
            rows,
            SALES_OF_AN_ITEM,
        )
        await self.run(SQL("CREATE INDEX ON sales (item) INCLUDE (amount)").format())
        await self.run(SQL("VACUUM ANALYZE sales").format())


class Items:
    """The items of one lane: a table of its own."""

    def __init__(self, connections: Connections, table: str) -> None:
        self._connections = connections
        self._table = Identifier(table)
        self._read = SQL(READ).format(items=self._table)
        self._change = SQL(CHANGE).format(items=self._table)

    async def create(self, rows: int) -> None:
        """Make the table, with bodies of 1 to 4 KB."""
        for query in (
            "CREATE UNLOGGED TABLE {} (id int PRIMARY KEY, version int NOT NULL, "
            "body bytea NOT NULL) WITH (fillfactor = 50)",
            "ALTER TABLE {} ALTER body SET STORAGE EXTERNAL",
            f"INSERT INTO {{}} SELECT i, 0, convert_to(repeat(md5(i::text), 32 + i % 97), 'UTF8') "
            f"FROM generate_series(0, {rows:d} - 1) i",
            "VACUUM ANALYZE {}",
        ):
            await self._connections.run(SQL(query).format(self._table))

    async def read(self, ids: Sequence[int]) -> Mapping[int, Item]:
        """The items, by one query."""
        rows = await self._connections.run(self._read, list(ids))
        return {row[0]: Item(row[1], row[2]) for row in rows}

    async def change(self, ids: Sequence[int]) -> Mapping[int, int]:
        """Change items; their new versions."""
        return {row[0]: row[1] for row in await self._connections.run(self._change, list(ids))}
