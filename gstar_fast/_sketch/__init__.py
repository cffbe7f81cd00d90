"""Counting: `Sketch` and `Window`."""
