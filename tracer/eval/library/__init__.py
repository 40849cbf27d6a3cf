"""Models of Python's builtins and of the library functions that configuration code calls."""
