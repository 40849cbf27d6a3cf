"""The partial evaluator: runs a tree's own Python on known and unknown values, without importing it."""
