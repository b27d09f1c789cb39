"""Single trees on the ranks of the values: criteria, thresholds, categories, growth, surrogates and descent."""
