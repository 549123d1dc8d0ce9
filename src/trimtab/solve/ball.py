r"""Linear features on unit balls: exact for one criterion on one ball, block by block beyond.

For a criterion alone on a ball the LCB is a'x - beta sqrt(x'Mx) = min over the ellipsoid
z'M^{-1}z <= beta^2 of (a + z)'x, so its minimum over |x| <= 1 is minus the largest |a + z|,
at x = -(a + z)/|a + z|. With the eigenvalues lam_j of M the farthest point is
a_j + z_j = a_j mu/(mu - lam_j), where mu >= max lam solves the secular equation

    sum_j a_j^2 lam_j / (mu - lam_j)^2 = beta^2.

In the hard case a has no part along the largest eigenvalue and the sum stays below
beta^2 up to mu = max lam: then the rest of z lies in that eigenspace, in either direction.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from trimtab._core import choose
from trimtab.arrays import Array, Ints
from trimtab.model.domain import BoundBalls
from trimtab.solve.bound import Bound
from trimtab.solve.solution import Solution
from trimtab.solve.subproblem import Part

SAME = 1e-10  # relative: eigenvalues this close are one, lengths this small are none
SWEEPS = 200
SETTLED = 1e-13  # relative: a sweep that gains less is the last
FINE = 1e-14
LENGTHS = 4.0 ** -np.arange(5)  # of a move, as shares of the longest, to begin with


def farthest(a: Array, M: Array, beta: float, toward: Array) -> Array:
    """The points of the unit sphere where a'x - beta sqrt(x'Mx) may be least: (2, n).

    Both have the least value in the hard case, and the second one about the least
    near it, where rounding must not decide between them. In an eigenspace of several
    dimensions the direction nearest to `toward` is taken.
    """
    lam, Q = np.linalg.eigh(M)
    lam = np.maximum(lam, 0.0)
    top = float(lam[-1])
    if beta * top == 0.0:
        x = _unit(-a, toward)
        return np.array([x, x])
    b = Q.T @ a
    highest = lam >= top * (1.0 - SAME)
    rest = ~highest
    room = beta**2 - float((b[rest] ** 2 * lam[rest] / (top - lam[rest]) ** 2).sum())
    if np.linalg.norm(b[highest]) <= SAME * (np.linalg.norm(b) + beta * np.sqrt(top)) and room > 0:
        y = np.zeros_like(b)
        y[rest] = b[rest] * top / (top - lam[rest])
        along = (Q.T @ toward)[highest]
        if np.linalg.norm(along) <= SAME:
            shares = (Q[:, highest] ** 2).sum(axis=1)  # of each axis in the eigenspace
            along = Q[int(np.argmax(shares >= shares.max() - SAME)), highest]
        y[highest] = -along / np.linalg.norm(along) * np.sqrt(top * room)
    else:
        gaps = top - lam + _secular(b, lam, beta)  # mu - lam_j
        y = b * (gaps + lam) / gaps
    mirrored = np.where(highest, -y, y)
    return np.array([_unit(-(Q @ z), toward) for z in (y, mirrored)])


def _secular(b: Array, lam: Array, beta: float) -> float:
    """How far the root of sum_j b_j^2 lam_j / (mu - lam_j)^2 = beta^2 is above the largest lam_j.

    That distance, not mu, is what must be accurate: it may be far below rounding of mu.
    """
    below = lam[-1] - lam
    alone = np.abs(b) * np.sqrt(lam) / beta
    # Each term alone, and all of them at the largest lam, bound the root from both sides.
    low = max(float((alone - below).max()), float(np.finfo(np.float64).tiny))
    high = max(float(np.linalg.norm(b)) * float(np.sqrt(lam[-1])) / beta, low)
    terms = list(zip(alone.tolist(), below.tolist(), strict=True))  # few numbers: no arrays
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if math.hypot(*(x / (y + middle) for x, y in terms)) > 1.0:  # inf, not an error, if huge
            low = middle
        else:
            high = middle
    return high


def _unit(x: Array, fallback: Array) -> Array:
    length = float(np.linalg.norm(x))
    return x / length if length > 0.0 else fallback


@dataclass(frozen=True)
class BallObjective:
    """The LCB as a function of the free knobs x alone: sum_i w_i (v_i'u_i - beta_i |u_i|).

    u = c + G x stacks the u_i = R_i^{-1} phi_i of all criteria that take part.
    """

    c: Array  # (sum d,)
    G: Array  # (sum d, n)
    lead: Array  # (sum d,) w_i v_i
    bonus: Array  # w_i beta_i
    starts: Ints  # where each criterion's part begins
    blocks: list[Ints]  # positions of each block's knobs in x

    @classmethod
    def of(
        cls, bound: Bound, domain: BoundBalls, state: Array, knobs: Ints, criteria: Ints
    ) -> BallObjective:
        """The LCB with every knob fixed but these."""
        problem = bound.problem
        phi, weights = problem.phi(state), problem.weights
        c: list[Array] = []
        G, lead, starts = [], [], []
        for i in criteria.tolist():
            R, v = bound.factor(i)
            scope = problem.graph.scope(i)
            J = np.zeros((v.size, knobs.size))
            here = np.isin(scope, knobs)
            J[:, np.searchsorted(knobs, scope[here])] = problem.features.jacobian(i, state)[:, here]
            part = phi[slice(*problem.features.offsets[i : i + 2])] - J @ state[knobs]
            starts.append(sum(x.size for x in c))
            c.append(np.asarray(np.linalg.solve(R, part), np.float64))
            G.append(np.linalg.solve(R, J))
            lead.append(weights[i] * v)
        blocks = [np.searchsorted(knobs, domain.block(int(b))) for b in domain.blocks_in(knobs)]
        return cls(
            c=np.concatenate(c),
            G=np.concatenate(G),
            lead=np.concatenate(lead),
            bonus=weights[criteria] * bound.radii[criteria],
            starts=np.array(starts),
            blocks=blocks,
        )

    def lengths(self, u: Array) -> Array:
        """|u_i| of each criterion."""
        return np.asarray(np.sqrt(np.add.reduceat(u**2, self.starts)))

    def value(self, x: Array) -> float:
        """F at x."""
        u = self.c + self.G @ x
        return float(self.lead @ u - self.bonus @ self.lengths(u))

    def slope(self, x: Array) -> Array:
        """The gradient of F at x; a criterion of length 0 adds its mean alone."""
        u = self.c + self.G @ x
        lengths = self.lengths(u)
        share = np.divide(self.bonus, lengths, out=np.zeros_like(lengths), where=lengths > 0.0)
        share = np.repeat(share, np.diff(np.append(self.starts, u.size)))
        return np.asarray(self.G.T @ (self.lead - share * u))


def search(part: Part, domain: BoundBalls, starts: int, seed: int, *, l2: bool = False) -> Solution:
    """The best state of the free blocks; with a lower bound where one ball is read alone.

    With `l2` a move costs its Euclidean length, |price (x - now)|_2, which for every eta is at most
    sum_j price_j^2 (x_j - now_j)^2 / (2 eta) + eta / 2.
    """
    local = BallObjective.of(part.bound, domain, part.now, part.knobs, part.criteria)
    now, price = part.now[part.knobs], part.price[part.knobs]

    def cost(x: Array) -> float:
        toll = float(np.linalg.norm(price * (x - now))) if l2 else part.toll(x)
        return local.value(x) + toll

    alone = len(local.blocks) == 1 and part.criteria.size == 1 and not l2
    alone &= bool(np.abs(local.c).max() <= SAME)  # nothing but this ball is read
    begin, exact = [now], alone and not price.any()
    if alone:
        beta = float(local.bonus[0])
        begin += [*farthest(local.G.T @ local.lead, local.G.T @ local.G, beta, now)]
    found = begin
    if not exact:
        rng = np.random.default_rng(seed)
        begin += [domain.sample(rng)[part.knobs] for _ in range(1, starts)]
        found = [now]
        for x in begin:
            end = _descend(local, x, now, np.zeros_like(price) if l2 else price)
            longest = 2.0 * float(np.linalg.norm(price)) or 1.0
            etas = longest * LENGTHS if l2 else ()
            found += [_descend(local, end, now, price, float(eta)) for eta in etas] or [end]
    values = np.array([cost(x) for x in found])
    best = choose(np.array(found), values, now)
    least = float(values.min()) if exact else None
    return Solution(found[best], float(values[best]), least, len(found) - 1)


def _descend(
    local: BallObjective, x: Array, now: Array, price: Array, eta: float | None = None
) -> Array:
    """Block after block to the best point of the ball for the tangent, until nothing is gained.

    F is concave, so the point that is least on its tangent, price included, is no worse. With eta
    the price is the quadratic one, and neither is then the length found as the next eta.
    """
    x, before = x.copy(), np.inf
    if eta is None:
        before = local.value(x) + float(price @ np.abs(x - now))
    for _ in range(SWEEPS):
        for block in local.blocks:
            slope, c = local.slope(x)[block], price[block]
            if eta is not None:
                x[block] = _near(slope, now[block], c**2 / (2.0 * eta), x[block])
            elif c.any():
                x[block] = lowest(slope, now[block], c)
            else:
                x[block] = _unit(-slope, x[block])
        if eta is None:
            value = local.value(x) + float(price @ np.abs(x - now))
        else:
            eta = float(np.linalg.norm(price * (x - now)))
            value = local.value(x) + eta
            if eta <= FINE:
                break
        if before - value <= SETTLED * abs(value):
            break
        before = value
    return x


def _near(slope: Array, now: Array, q: Array, here: Array) -> Array:
    """The point of the unit ball where slope'x + sum_j q_j (x_j - now_j)^2 is least.

    With a multiplier mu for |x|^2 it is x_j = (2 q_j now_j - slope_j) / (2 (q_j + mu)), and |x|
    falls with mu.
    """
    lead = 2.0 * q * now - slope
    if not lead.any():
        return here if not q.any() else np.zeros_like(here)
    low, high = 0.0, 0.5 * float(np.linalg.norm(lead))  # at the upper end |x| <= 1

    def at(mu: float) -> Array:
        return np.asarray(np.divide(lead, 2.0 * (q + mu), out=np.zeros_like(q), where=lead != 0.0))

    if (q[lead != 0.0] > 0.0).all() and float(np.linalg.norm(at(0.0))) <= 1.0:
        return at(0.0)
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if middle > 0.0 and float(np.linalg.norm(at(middle))) <= 1.0:
            high = middle
        else:
            low = middle
    return at(high)


def lowest(slope: Array, now: Array, price: Array) -> Array:
    """The point of the unit ball where slope'x + sum_j price_j |x_j - now_j| is least.

    With a multiplier 1/q for |x|^2/2 each x_j has a closed form: now_j where that lies between
    low_j q and high_j q, else the nearer of these. |x| grows with q, and between the q at which
    a knob comes to now_j or leaves it |x|^2 is a constant and a multiple of q^2.
    """
    if (np.abs(slope) <= price).all():
        return now
    low, high = -slope - price, price - slope
    ends = np.concatenate((low, high))
    turns = np.divide(np.concatenate((now, now)), ends, out=np.zeros_like(ends), where=ends != 0.0)
    turns = np.sort(turns[turns > 0.0])
    there = np.minimum(np.maximum(now, turns[:, None] * low), turns[:, None] * high)
    within = int(((there**2).sum(axis=1) <= 1.0).sum())  # the first of the turns
    least = float(turns[within - 1]) if within else 0.0
    most = float(turns[within]) if within < turns.size else np.inf
    q = 0.5 * (least + most) if most < np.inf else 2.0 * least + 1.0
    below, above = now < low * q, now > high * q
    room = 1.0 - float((now[~(below | above)] ** 2).sum())
    speed = float((low[below] ** 2).sum() + (high[above] ** 2).sum())
    if speed > 0.0:  # else now is on the sphere, up to rounding
        q = min(max(math.sqrt(max(room, 0.0) / speed), least), most)
    x = np.minimum(np.maximum(now, low * q), high * q)
    return np.where(np.abs(x - now) <= FINE, now, x)
