"""The reference backend: short, readable next to the documentation, no speed tricks."""
