"""Growth of the trees of a boosted model, on bins and gradients."""
