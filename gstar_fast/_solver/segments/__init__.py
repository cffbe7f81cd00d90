"""Thresholds by segment while gaps are measured between protected groups."""
