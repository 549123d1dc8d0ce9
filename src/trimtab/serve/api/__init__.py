"""The JSON API, version 1: everything that a tuner can do."""
