"""Trees of a forest, grown on bins."""
