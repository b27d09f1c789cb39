"""A table as small unsigned integers: ranks for exact trees, bins for forests and boosting."""
