"""Estimators with scikit-learn's interface: `fit` a table, then `predict`, `score`, show it and read its rules.

Nothing is imported here, so that a single tree does not load what only ensembles need.
"""
