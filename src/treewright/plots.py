"""Plots of models by matplotlib: each returns its axes and takes `ax=`. The extra `plot` installs matplotlib."""

from treewright.show.plots.boundary import plot_boundary
from treewright.show.plots.effects import plot_importances, plot_partial_dependence
from treewright.show.plots.evaluation import (
    plot_calibration,
    plot_confusion,
    plot_learning_curve,
    plot_precision_recall,
    plot_residuals,
    plot_roc,
)
from treewright.show.plots.training import plot_complexity, plot_diversity, plot_loss, plot_oob_error

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
