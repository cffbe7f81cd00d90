"""User input -> clean arrays, or an error that says what to do."""
