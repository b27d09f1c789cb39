"""Growth of single trees on the ranks of the values, with surrogates, and the descent of rows."""
