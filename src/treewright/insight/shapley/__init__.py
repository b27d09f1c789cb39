"""Shapley values: how much each column contributes to a prediction."""

from treewright.insight.shapley.values import ShapValues, shap_values

__all__ = ["ShapValues", "shap_values"]
