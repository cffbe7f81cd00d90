"""Limits that hold on new rows, with stated confidence."""
