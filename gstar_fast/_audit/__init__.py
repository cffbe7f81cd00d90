"""Rates, gaps and metrics of decisions, with intervals."""
