"""Speculation off above a batch size, on again below it."""
