"""Sketches of rows whose group is only known with probabilities."""
