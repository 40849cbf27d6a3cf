"""pathtrace: which speculative worker an SGLang launch loads, and why."""

__version__ = "0.1.0"
