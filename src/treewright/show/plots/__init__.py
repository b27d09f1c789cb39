"""Plots of models by matplotlib; `treewright.plots` has their public names."""
