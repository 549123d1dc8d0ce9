"""The paper's experiments, played again: published numbers beside ours, with a verdict each."""
