"""Pruning methods, each a function from a tree to a smaller tree."""
