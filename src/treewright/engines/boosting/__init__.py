"""Trees of a boosted model, grown on bins and gradients."""
