"""Shapley values of trees."""
