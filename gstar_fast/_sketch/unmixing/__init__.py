"""Tests of the assumptions of unmixing."""
