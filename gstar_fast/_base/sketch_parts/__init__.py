"""Parts of the sketch's format: what bytes describe, checks, and sections."""
