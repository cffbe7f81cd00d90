"""Refusals: the codes of what can be wrong, and one sentence for each."""
