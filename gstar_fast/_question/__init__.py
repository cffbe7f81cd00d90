"""What is asked of thresholds, as one record."""
