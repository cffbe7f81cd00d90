"""The distribution of each cell's scores, from a sketch alone."""
