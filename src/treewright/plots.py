"""Plots of models by matplotlib: each returns its axes and takes `ax=`. The extra `plot` installs matplotlib."""

from treewright.show.plots import (
    plot_boundary,
    plot_calibration,
    plot_complexity,
    plot_confusion,
    plot_diversity,
    plot_importances,
    plot_learning_curve,
    plot_loss,
    plot_oob_error,
    plot_partial_dependence,
    plot_precision_recall,
    plot_residuals,
    plot_roc,
)

__all__ = [
    "plot_boundary",
    "plot_calibration",
    "plot_complexity",
    "plot_confusion",
    "plot_diversity",
    "plot_importances",
    "plot_learning_curve",
    "plot_loss",
    "plot_oob_error",
    "plot_partial_dependence",
    "plot_precision_recall",
    "plot_residuals",
    "plot_roc",
]
