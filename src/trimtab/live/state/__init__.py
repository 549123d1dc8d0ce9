"""What events add up to: the state of a tuner, and the policy that learned from them."""
