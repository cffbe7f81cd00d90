"""The backend for machines without the compiled extension: the same answers, compiled by Numba."""
