"""A league of stability: who pays least for losses and moves together."""
