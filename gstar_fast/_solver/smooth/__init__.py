"""Thresholds on smooth densities: the iterative methods, and their last digits."""
