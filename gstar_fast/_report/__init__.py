"""A result and its sketch as one page that people can read and keep."""
