"""The supervisor of a running server: starts it, forwards its output and signals, and asserts its confirmation."""
