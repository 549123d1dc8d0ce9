"""Section 5.3 of the paper: Lazy Graph-LinUCB with a joint estimate of shared factors."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from trimtab.arrays import NOBODY, ArrayLike, Ints, number, per_item
from trimtab.errors import InvalidInput
from trimtab.learn import Confidence, Prior
from trimtab.learn.joint.model import Factors, Knobs
from trimtab.learn.joint.noise import joint_noise
from trimtab.model.problem import Problem
from trimtab.policies.base import Told
from trimtab.policies.joint.learner import JointLearner, JointOptions
from trimtab.policies.lazy_policy import ColdStart, LazyPolicy
from trimtab.policies.learner import Learner, check_beliefs
from trimtab.policies.registry import register


@register
class JointLazyGraphLinUCB(LazyPolicy):
    r"""The joint version: criteria that share factors are learned together.

    One regression estimates the parameters w of all factors from the losses of all criteria,

    .. math::
        V = \lambda I + \sum_t \Psi(s_t)^\top \Psi(s_t), \qquad
        F_J(s) = \mathbf 1^\top \Psi(s) \hat w
        - \beta_J \, \| \Psi(s)^\top \mathbf 1 \|_{V^{-1}},

    with :math:`\beta_J = \sigma \sqrt{\log\det V - d_{eff} \log \lambda + 2 \log(1/\delta)} +
    \sqrt\lambda \|w\|` (and the criteria's weights in the place of 1). The state stays until
    :math:`\det V` has grown by the factor C; then it moves to the minimiser of
    max(LCB, F_J), the larger of the node-wise and the joint lower bound. Each has half of delta.
    A trigger is everybody's: `Told.triggered` then names all criteria. The joint determinant grows
    faster than any criterion's, so on graphs of many factors it looks, and moves, more often
    than `LazyGraphLinUCB`.

    The losses must be made of the factors, see `Factors`: the paper's Assumption D. If they are
    not, no bound holds.

    Told nothing but the problem and the start, it learns with a `Prior` of the criteria and of
    the factors (`learn.joint.prior`): one spread and one noise of all factors, learned at
    every look until they are known, and :math:`\beta_J` makes the width a standard deviation of
    the posterior. Nothing is certified then.

    Deviation: the paper minimises the joint bound alone, which its own analysis finds worse than
    the node-wise one on sparse graphs. The larger of both costs half of delta, and regret is then
    at most 2 min(W, W_J) a round. ``joint_only=True`` is the paper's; with
    ``cold_start="keep", review=False`` to the letter.

    Deviation: the noise of criteria that read the same knobs may be correlated, and a joint
    radius with their own sigma then fails far more often than delta. `covariance` mends it: by
    generalised least squares, V = reg I + sum Psi' S^-1 Psi and sigma = 1, or, if S is singular,
    by its largest eigenvalue in the place of sigma^2. Without it the noise must be independent.

    >>> import trimtab as tt
    >>> from trimtab.sim.worlds.joint import factored
    >>> world, w = factored(tt.Graph.complete(4), seed=1, noise=tt.worlds.Gaussian(0.5))
    >>> radius = tt.Confidence(sigma=0.5, norm=world.norms)
    >>> options = {"start": [0.5] * 4, "radius": radius, "reg": 0.1}
    >>> joint = tt.JointLazyGraphLinUCB(world.problem, factor_norm=np.linalg.norm(w), **options)
    >>> nodes = tt.LazyGraphLinUCB(world.problem, **options)
    >>> runs = [tt.play(policy, world, horizon=10**4) for policy in (joint, nodes)]
    >>> runs[0].regret < 0.8 * runs[1].regret
    True
    >>> joint.certificate.bound < 0.6 * nodes.certificate.bound
    True

    >>> world, _ = factored(tt.Graph.complete(4), seed=1, noise=tt.worlds.Gaussian(0.1))
    >>> policy = tt.JointLazyGraphLinUCB(world.problem, start=[0.5] * 4)  # told nothing
    >>> stay = 300 * (world.loss(policy.ask()) - world.optimum.value)
    >>> tt.play(policy, world, horizon=300).regret < 0.7 * stay
    True

    Args:
        problem: with any basis. Factors have the same one, but for Example 1 (`Factors`).
        start: the state the system is in now.
        radius: beta of the criteria, one number or one each, or a `Confidence`. Of numbers the
            joint estimate takes the largest. None for a prior.
        factor_norm: a bound on the length of w, all factors together; a `Confidence` needs it.
        prior: what is believed of the criteria's losses before any is seen, `Prior()` by
            default. Of spreads the factors have the weighted mean.
        factors: lists of knobs; by default the maximal cliques of an undirected graph, the
            distinct scopes of any other.
        shares: (m, factors) who has how much of each factor; equal by default.
        covariance: (m, m) of the noise, or a bound on it; see `scope_covariance`.
        joint_only: leave the node-wise bounds out; by default where they would not hold, since the
            features of a factor are not among those of the criteria that share in it.
        reg: the ridge parameter of the criteria that goes with a radius, one number or one each;
            1 by default.
        factor_reg: that of the joint estimate; by default the mean of reg times that of
            sum_i A_iC^2, the information of a round about a factor: as strong as node by node.
        factor: C, by how much the joint determinant must grow to trigger.
        cold_start: "solve" before the first round, or "keep" the start state.
        review: whether to solve whenever the clock has doubled since the last time.
        seed: of the solver's random starts.
    """

    learner: JointLearner
    _memory: ClassVar[type[Learner]] = JointLearner

    def __init__(
        self,
        problem: Problem,
        *,
        start: ArrayLike,
        radius: ArrayLike | Confidence | None = None,
        factor_norm: float | None = None,
        prior: Prior | None = None,
        factors: Knobs | None = None,
        shares: ArrayLike | None = None,
        covariance: ArrayLike | None = None,
        joint_only: bool | None = None,
        reg: ArrayLike | None = None,
        factor_reg: float | None = None,
        factor: float = 2.0,
        cold_start: ColdStart = "solve",
        review: bool = True,
        seed: int = 0,
    ) -> None:
        if cold_start not in ("solve", "keep"):
            raise InvalidInput(f"cold_start = {cold_start!r}; choose 'solve' or 'keep'")
        prior = check_beliefs(radius, reg, prior)
        for name, value in (("factor_norm", factor_norm), ("factor_reg", factor_reg)):
            if prior is not None and value is not None:
                raise InvalidInput(f"{name} without radius; a prior replaces both, so drop it")
        model = Factors(problem, factors=factors, shares=shares)
        joint_only = not model.nested if joint_only is None else bool(joint_only)
        if not (model.nested or joint_only):
            raise InvalidInput(
                f"joint_only = False with {problem.basis!r}: the features of a factor are not "
                "among those of the criteria, so that no bound node by node holds; use "
                "PairwiseFourier() or Quadratic(), or joint_only=True"
            )
        delta, norm = 1.0, 0.0  # of which a fixed radius knows nothing
        if isinstance(radius, Confidence):
            if factor_norm is None:
                raise InvalidInput("factor_norm is missing; a Confidence needs a bound on |w|")
            norm = number(factor_norm, "factor_norm", low=0.0, strict=False)
            alone = joint_only and radius.sigma is not None
            delta = radius.delta if alone else radius.delta / 2.0
            radius = replace(radius, delta=radius.delta / 2.0)
        if prior is None and reg is None:
            reg = 1.0
        if factor_reg is None:
            each = per_item(
                1.0 if reg is None else reg,
                problem.criteria,
                "reg",
                "criterion",
                low=0.0,
                strict=True,
            )
            factor_reg = float(each.mean() * (model.most**2).sum(axis=0).mean())
        self.learner = JointLearner(
            problem,
            start=start,
            radius=radius,
            reg=reg,
            prior=prior,
            factor=number(factor, "factor", low=1.0, strict=True),
            seed=seed,
            options=JointOptions(
                factors=model,
                noise=joint_noise(covariance, problem.criteria),
                reg=number(factor_reg, "factor_reg", low=0.0, strict=True),
                norm=norm,
                delta=delta,
                only=joint_only,
            ),
        )
        self.review = bool(review)
        self._last_global = 0
        if cold_start == "solve" and self.learner.ready:
            self._solve_globally()

    def _check(self) -> Told:
        triggered = self.problem.all_criteria if self.learner.joint.triggered else NOBODY
        if triggered.size or self._review_due():
            return self._told(triggered, self._solve_globally())
        return self._told(triggered, None)

    def rounds_left(self) -> int:
        """Rounds until the next review if everything is observed."""
        if self.learner.holding:
            return self.review_left()
        return min(self.learner.joint.rounds_left(), self.review_left())

    def needs(self) -> Ints:
        """How often each criterion can still be observed before there may be a trigger: (m,).

        No determinant grows by more than if everybody had been seen as often.
        """
        if self.learner.holding:
            return super().needs()
        return np.full(self.problem.criteria, self.learner.joint.rounds_left())
