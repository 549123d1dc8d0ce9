"""What the paper prints of its second experiment."""

from __future__ import annotations

from trimtab.paper.experiment import Published

# Clique: (updates under the global schedule, under the asynchronous one), as in Table 3.
_TABLE = {
    4: (41, 15),
    2: (41, 14),
    5: (41, 14),
    6: (41, 13),
    1: (41, 13),
    7: (41, 13),
    8: (41, 13),
    3: (41, 14),
    9: (41, 11),
    0: (41, 11),
}


def _count(name: str, quantity: str, where: str, value: int, group: str) -> Published:
    return Published(
        name=name,
        quantity=quantity,
        where=where,
        value=float(value),
        printed=str(value),
        rounding=0.5,
        runs=1,
        group=group,
    )


def _factor(
    name: str, quantity: str, where: str, value: float, *, group: str = "", claim: bool = False
) -> Published:
    return Published(
        name=name,
        quantity=quantity,
        where=where,
        value=value,
        printed=str(value),
        rounding=0.05,
        runs=1,
        group=group,
        claim=claim,
    )


PUBLISHED = (
    _count("updates_global", "global updates", "Table 3", _TABLE[4][0], "global"),
    _count("total_global", "clique updates, global", "Tables 2 and 3", 410, "global"),
    *(
        _count(f"updates_async_{c}", f"async updates of clique {c}", "Table 3", local, "async")
        for c, (_, local) in _TABLE.items()
    ),
    _count("total_async", "clique updates, async", "Tables 2 and 3", 131, "async"),
    *(
        _factor(
            f"waste_{c}", f"updates of clique {c}, global by async", "Table 2", value, group="waste"
        )
        for c, value in ((4, 2.7), (9, 3.7))
    ),
    _factor("update_ratio", "clique updates, global by async", "Tables 2 and 3", 3.1),
    # The caption of Figure 4 calls the ratio of updates one of movement costs.
    _factor("movement_ratio", "l1 movement, global by async", "Figure 4", 3.1, claim=True),
)
