"""Group thresholds as a scikit-learn classifier."""
