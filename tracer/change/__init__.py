"""Changes of a tree: which functions a patch touches, and whether a worker ever runs them."""
