"""Growth of the trees of a forest, on bins."""
