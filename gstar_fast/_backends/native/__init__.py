"""The C++ backend, compiled into `gstar_fast._core`."""
