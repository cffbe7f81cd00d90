"""What a result is made of, its words and its JSON."""
