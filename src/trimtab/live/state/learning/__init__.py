"""What a tuner learns, apart from its events: lessons, the policy, the guardrails' regressions."""
