"""Renderers: one answer in, one format out. Nothing here computes an answer."""
