r"""Exact minimisation of a sum of tables, by eliminating one variable after another.

A sum of factors, each a table over the candidates of a few variables, is minimised by
min-sum bucket elimination: the bucket of variable v adds up everything that still reads v,
a table over its *bag*, that is v and the neighbours N(v) it has left, and sends on the message

    min over v of (sum of the factors and messages that read v),   a table over N(v).

The work is the number of bag entries, exponential in the width of the order (`order`) and
linear in the number of variables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trimtab.arrays import Array, Ints
from trimtab.bases.features import offsets_of
from trimtab.compiled import Structure, bare, inner
from trimtab.solvers.order import elimination_order
from trimtab.solvers.solution import TIED


@dataclass(frozen=True, kw_only=True, eq=False)
class Plan(Structure):
    """Where everything is found: bucket t eliminates order[t]; an input is a factor or a message.

    Factors and messages share one flat array, the factors first.
    """

    counts: Ints  # (n,) candidates of each variable
    firsts: Ints  # (n + 1,) where its candidates begin among all
    tables: Ints  # (factors + 1,) where each factor begins
    order: Ints  # (n,) variables
    bag_offsets: Ints  # (n + 1,)
    bags: Ints  # the neighbours left, ascending
    messages: Ints  # (n + 1,) where each message begins
    input_offsets: Ints  # (n + 1,)
    heard: Ints  # (n,) how many inputs of a bucket are factors; the others are messages
    starts: Ints  # (inputs,) where each input begins
    stride_offsets: Ints  # (n + 1,)
    strides: Ints  # (bag, inputs) of each bucket; the variable itself is the last of its bag
    entries: int  # the number of bag entries: the work


def plan(scopes: Sequence[Ints], counts: Ints, most: int) -> Plan | None:
    """How to eliminate the variables, or None if that takes more than `most` bag entries.

    Args:
        scopes: the variables that each factor reads, ascending.
        counts: the number of candidates of each variable, all at least 1.
        most: bag entries, over all buckets.
    """
    counts = np.array(counts, np.int64)
    sizes = np.fromiter((scope.size for scope in scopes), np.int64, len(scopes))
    reads = np.concatenate([np.empty(0, np.int64), *scopes])
    # A variable without a choice is nobody's neighbour, and no table has a stride for it.
    real = counts[reads] > 1
    rows = np.repeat(np.arange(sizes.size), sizes)[real]
    offsets = offsets_of(np.bincount(rows, minlength=sizes.size))
    reads = reads[real]
    order, bag_offsets, bags, entries = elimination_order(offsets, reads, counts, most)
    if entries > most:
        return None
    begins, input_offsets, heard, starts, stride_offsets, strides = _lay_out(
        np.concatenate((offsets, reads.size + bag_offsets[1:-1])),
        np.concatenate((reads, bags)),
        sizes.size,
        counts,
        order,
        bag_offsets,
        bags,
    )
    return Plan(
        counts=counts,
        firsts=offsets_of(counts),
        tables=begins[: sizes.size + 1],
        order=order,
        bag_offsets=bag_offsets,
        bags=bags,
        messages=begins[sizes.size :],
        input_offsets=input_offsets,
        heard=heard,
        starts=starts,
        stride_offsets=stride_offsets,
        strides=strides,
        entries=entries,
    )


# The layout


def _lay_out(
    scope_offsets: Ints,
    scopes: Ints,
    factors: int,
    counts: Ints,
    order: Ints,
    bag_offsets: Ints,
    bags: Ints,
) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """Where the inputs lie, and how each moves as its bucket runs through its bag.

    The inputs are the factors, then the messages of all buckets but the last. An input goes
    to the bucket of its first variable to be eliminated, and one that reads no variable to
    the last bucket, whose message is the answer.
    """
    n, sizes = order.size, np.diff(scope_offsets)
    rank = np.empty(n, np.int64)
    rank[order] = np.arange(n)
    rows = np.repeat(np.arange(sizes.size), sizes)  # the input of each entry of `scopes`
    bucket = np.full(sizes.size, n - 1)
    np.minimum.at(bucket, rows, rank[scopes])
    left = np.ones(sizes.size, np.int64)  # the table's size, by the variables visited so far
    strides_in = np.empty(scopes.size, np.int64)
    for back in range(1, int(sizes.max(initial=0)) + 1):  # from the last variable to the first
        long = np.flatnonzero(sizes >= back)
        entry = scope_offsets[long + 1] - back
        strides_in[entry] = left[long]
        left[long] *= counts[scopes[entry]]
    begins = np.append(offsets_of(left), left.sum() + 1)
    inputs = np.bincount(bucket, minlength=n)
    input_offsets = offsets_of(inputs)
    heard = np.bincount(bucket[:factors], minlength=n)
    widths = np.diff(bag_offsets) + 1
    stride_offsets = offsets_of(widths * inputs)
    by_bucket = np.argsort(bucket, kind="stable")
    taken = np.empty(sizes.size, np.int64)  # an input's number in its bucket
    taken[by_bucket] = np.arange(sizes.size) - input_offsets[bucket[by_bucket]]
    t = bucket[rows]
    known = np.append(np.repeat(np.arange(n), widths - 1) * n + bags, n * n)  # ascending
    found = np.searchsorted(known, t * n + scopes)
    inside = known[found] == t * n + scopes
    place = np.where(inside, found - bag_offsets[t], widths[t] - 1)
    strides = np.zeros(stride_offsets[-1], np.int64)
    strides[stride_offsets[t] + place * inputs[t] + taken[rows]] = strides_in
    return begins, input_offsets, heard, begins[by_bucket], stride_offsets, strides


# The minimum


def minimum(plan: Plan, tables: Array, toll: Array) -> tuple[Ints, float]:
    r"""The best choice of a candidate for every variable, and the least sum of all.

    Equal sums go by the smaller total toll, and equal tolls by the lower candidate, variable
    by variable in reverse order of elimination. In every bucket, equal means within
    TIED / n times the sum over the factors of the largest entry of each in size, and for
    tolls likewise over the n variables. So the choice is worse than the minimum by at most
    TIED times the factors' sizes; the minimum itself does not depend on the tolls.

    Args:
        plan: of the factors' scopes.
        tables: factor after factor, each in C order over its scope.
        toll: variable after variable, what each candidate costs among equals.
    """
    values = np.empty(plan.messages[-1])
    values[: tables.size] = tables
    desk = Desk(
        values=values,
        tolls=np.empty(values.size),
        toll=np.array(toll),
        sums=np.empty((2, int(plan.counts.max()))),
        at=np.empty(int(np.diff(plan.input_offsets).max()), np.int64),
        digits=np.empty(int(np.diff(plan.bag_offsets).max()), np.int64),
        choice=np.empty(plan.order.size, np.int64),
    )
    _minimum(plan, desk)
    return desk.choice, float(values[-1])


@dataclass(frozen=True, kw_only=True, eq=False)
class Desk(Structure):
    """The messages and the choice, and room for a bucket."""

    values: Array  # factors, then messages
    tolls: Array  # those of the messages' choices
    toll: Array  # of each candidate
    sums: Array  # (2, most candidates)
    at: Ints  # (most inputs of a bucket,)
    digits: Ints  # (most neighbours,)
    choice: Ints  # (n,)


@bare
def _minimum(plan: Plan, desk: Desk) -> None:
    """The choice, having sent all messages."""
    n = plan.order.size
    slack = TIED / n * _size(desk.values, plan.tables)
    toll_slack = TIED / n * _size(desk.toll, plan.firsts)
    at, choice = desk.at, desk.choice
    for t in range(n):
        _send(t, slack, toll_slack, plan, desk)
    for t in range(n - 1, -1, -1):
        first, bag = plan.input_offsets[t], plan.bag_offsets[t]
        inputs = plan.input_offsets[t + 1] - first
        for i in range(inputs):
            at[i] = plan.starts[first + i]
            for q in range(plan.bag_offsets[t + 1] - bag):
                at[i] += choice[plan.bags[bag + q]] * _stride(t, q, i, plan)
        best, _, _ = _pick(t, slack, toll_slack, plan, desk)
        choice[plan.order[t]] = best


@inner
def _size(entries: Array, offsets: Ints) -> float:
    """The sum over the blocks of the largest entry in size."""
    total = 0.0
    for f in range(offsets.size - 1):
        largest = 0.0
        for e in range(offsets[f], offsets[f + 1]):
            largest = max(largest, abs(entries[e]))
        total += largest
    return total


@inner
def _stride(t: int, q: int, i: int, plan: Plan) -> int:
    """How input i of bucket t moves with the q-th variable of its bag."""
    inputs = plan.input_offsets[t + 1] - plan.input_offsets[t]
    return int(plan.strides[plan.stride_offsets[t] + q * inputs + i])


@inner
def _send(t: int, slack: float, toll_slack: float, plan: Plan, desk: Desk) -> None:
    """The message of bucket t: the least sum, and the toll of its choice, at all of N(v)."""
    at, digits = desk.at, desk.digits
    bag = plan.bags[plan.bag_offsets[t] : plan.bag_offsets[t + 1]]
    inputs = plan.input_offsets[t + 1] - plan.input_offsets[t]
    for i in range(inputs):
        at[i] = plan.starts[plan.input_offsets[t] + i]
    for q in range(bag.size):
        digits[q] = 0
    for e in range(plan.messages[t], plan.messages[t + 1]):
        _, desk.values[e], desk.tolls[e] = _pick(t, slack, toll_slack, plan, desk)
        for q in range(bag.size - 1, -1, -1):
            if digits[q] + 1 < plan.counts[bag[q]]:
                digits[q] += 1
                for i in range(inputs):
                    at[i] += _stride(t, q, i, plan)
                break
            for i in range(inputs):
                at[i] -= digits[q] * _stride(t, q, i, plan)
            digits[q] = 0


@inner
def _pick(
    t: int, slack: float, toll_slack: float, plan: Plan, desk: Desk
) -> tuple[int, float, float]:
    """The candidate to take with the rest of the bag fixed, the least sum and the toll."""
    values, tolls, at = desk.values, desk.tolls, desk.at
    sums, costs = desk.sums[0], desk.sums[1]
    first, count = plan.firsts[plan.order[t]], plan.counts[plan.order[t]]
    last = plan.bag_offsets[t + 1] - plan.bag_offsets[t]
    heard = plan.heard[t]
    for c in range(count):
        sums[c] = 0.0
        costs[c] = desk.toll[first + c]
    for i in range(plan.input_offsets[t + 1] - plan.input_offsets[t]):
        p, stride = at[i], _stride(t, last, i, plan)
        for c in range(count):
            sums[c] += values[p]
            if i >= heard:
                costs[c] += tolls[p]
            p += stride
    least = sums[0]
    for c in range(1, count):
        least = min(least, sums[c])
    best = -1
    for c in range(count):
        if sums[c] <= least + slack and (best < 0 or costs[c] < costs[best] - toll_slack):
            best = c
    best = max(best, 0)
    return best, least, costs[best]
