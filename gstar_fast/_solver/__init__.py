"""From a sketch and a question to thresholds, with a verdict."""
