"""Verdicts about an answer: one rule, one file."""
