"""Thresholds at work: deciders, and thresholds for other systems."""
