"""What is remembered of losses beside their sums: the first ones, and the means of epochs."""

from trimtab.learn.losses.first_losses import FirstLosses
from trimtab.learn.losses.level import Diary

__all__ = ["Diary", "FirstLosses"]
