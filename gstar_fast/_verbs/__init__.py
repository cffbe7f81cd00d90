"""What a user asks of a sketch: thresholds, a frontier, the rows a promise needs, bounds, a check."""
