"""Rules over an answer and a change: one rule, one file; its text is its documentation, its examples its tests."""
