"""Counterfactuals: the nearest change of a row that changes the prediction of a model."""

from treewright.insight.counterfactual.find import counterfactual
from treewright.insight.counterfactual.result import Change, Counterfactual

__all__ = ["Change", "Counterfactual", "counterfactual"]
