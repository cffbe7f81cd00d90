"""Counting and deciding on clusters: the sketch of one pass, made by the tasks of an engine."""
