"""Parts of the sketch's format: what bytes describe, checks, sections, and the first version."""
