"""What the fairness study shows, in sentences made of its own numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trimtab.paper.fairness.play import GRAPHS

if TYPE_CHECKING:
    from trimtab.paper.fairness.result import FairnessStudy


def remarks(study: FairnessStudy) -> list[str]:
    """A paragraph per finding."""
    return [_basis(study), _steady(study), _peer(study), _graphs(study), _noise(study)]


def _basis(study: FairnessStudy) -> str:
    scores = [each for each in study.pilots if each.shape.units == "score"]
    rejected = sum(not each.adequate for each in scores)
    worst = max(each.statistic.max() for each in study.pilots)
    shape = study.knowledge.shape
    units = "log-odds" if shape.units == "logit" else "scores"
    return (
        f"Of {len(scores)} bases with thresholds in scores over [0, 1] the lack-of-fit test "
        f"rejects {rejected}: what they cannot explain has up to {worst:.0f} times the variance of "
        "the noise, because rates fall steeply where scores are dense. In log-odds from "
        f"{study.spec.low:g} to {study.spec.high:g} rates are nearly straight. The smallest "
        f"adequate basis is the {shape.basis} one in {units}, and it is the one played."
    )


def _steady(study: FairnessStudy) -> str:
    late, ratio, s = study.late, study.movement_ratio, study.spec
    verdict = "Both hold in every run." if study.holds else "They do not both hold in every run."
    return (
        "Steady is told reg; the noise is measured, and the factor is the policy's own. Over the "
        "last fifth its regret per round is "
        f"{late.mean():.1%} of what there is to gain, at most {late.max():.1%} in {late.size} runs "
        f"(5 % is asked for). In the first {s.eager_rounds:,} rounds it moves at most "
        f"{study.early_ratio.max():.1%} of what standard LinUCB does, and in all {s.rounds:,} at "
        f"most {ratio.max():.1%} of what that did in those {s.eager_rounds:,} (a third is asked "
        f"for). {verdict} "
        "Most of what is left is exploration: the radius covers the parameters of all criteria "
        "at once."
    )


def _peer(study: FairnessStudy) -> str:
    k = len(study.best.state)
    peer, best = float(study.peer.losses.sum()), study.best
    ends = [run.end_loss for run in study.of("SteadyGraphLinUCB")]
    return (
        f"The best fixed thresholds cost {best.loss:.4f} a round ({best.agreed} of {best.restarts} "
        f"searches end there), of which errors {study.best_losses[:k].sum():.4f}. fairlearn's "
        "ThresholdOptimizer, which is given all labels at once, equal rates as a "
        f"constraint, and lots to draw, costs {peer:.4f}. Steady, which sees one batch a round, "
        f"ends between {min(ends):.4f} and {max(ends):.4f}; the start costs "
        f"{study.start.sum():.4f}."
    )


def _graphs(study: FairnessStudy) -> str:
    runs = {graph: study.of("SteadyGraphLinUCB", graph)[0] for graph in GRAPHS}
    late = {graph: f"{run.late / study.way:.1%}" for graph, run in runs.items()}
    moved = {graph: f"{run.movement[-1]:.0f}" for graph, run in runs.items()}
    edges = {graph: run.edges for graph, run in runs.items()}
    return (
        "On a graph that is too sparse (gaps read one of their two groups) the late regret is "
        f"{late['sparse']} of the way instead of {late['known']}, and the pilot's test rejects "
        f"{int(study.sparse_pilot.rejected.sum())} of its criteria. On one that is too dense "
        f"({edges['dense']} dependencies instead of {edges['known']}) it is {late['dense']}, and "
        f"Steady moves {moved['dense']} instead of {moved['known']}. Learned from the dense one "
        f"the graph has {edges['learned']} dependencies; with the warm-up Steady moves "
        f"{moved['learned']}, and its late regret is {late['learned']}."
    )


def _noise(study: FairnessStudy) -> str:
    least, most = study.knowledge.sigma.min(), study.knowledge.sigma.max()
    return (
        f"Noise comes from batches of {study.spec.batch:,} people: a standard deviation of "
        f"{least:.3f} to {most:.3f}, by criterion, at random states. Gaps have the most noise "
        "where they are large, so policies measure the noise where they are; they are told how "
        "long parameters were in the pilot, times a margin. Such noise is neither Gaussian nor "
        "the same everywhere, so that nothing here is certified."
    )
