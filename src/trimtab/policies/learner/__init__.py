"""The memory of a node-wise policy."""

from trimtab.policies.learner.arguments import check_beliefs, rounds_of
from trimtab.policies.learner.certificate import Certificate
from trimtab.policies.learner.learner import Learner

__all__ = ["Certificate", "Learner", "check_beliefs", "rounds_of"]
