"""What a result is made of, and its JSON."""
