"""The command line `gstar-fast`."""
