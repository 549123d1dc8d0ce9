"""The tables of a spec that connect a tuner: sources of metrics, targets, webhooks."""
