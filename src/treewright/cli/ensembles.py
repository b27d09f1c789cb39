"""Summaries of ensembles, which have too many trees to print."""

from __future__ import annotations

from typing import Any

import numpy as np


def importances_of(fitted: Any) -> list[tuple[str, float]]:
    """The columns with their importances, the largest first; empty if the members have none."""
    shares = getattr(fitted, "feature_importances_", None)
    if shares is None:
        return []
    names = fitted.feature_names_in_
    return [(str(names[place]), float(shares[place])) for place in np.argsort(-shares, kind="stable")]


def leaves_of(fitted: Any) -> np.ndarray | None:
    """The number of leaves of each tree; None if the members are not trees."""
    forests = getattr(fitted, "forests_", None)
    if forests is not None:
        return np.concatenate([np.diff(forest.leaf_start) for forest in forests])
    forest = getattr(fitted, "forest_", None)
    if forest is not None and hasattr(forest, "leaf_start"):
        return np.diff(forest.leaf_start)
    trees = [getattr(member, "tree_", None) for member in fitted.estimators_]
    return None if None in trees else np.array([tree.n_leaves for tree in trees if tree is not None])


def count_members(fitted: Any) -> int:
    forests = getattr(fitted, "forests_", None)
    return len(fitted.estimators_) if forests is None else sum(map(len, forests))


def members_sentence(fitted: Any) -> str:
    """The number of members and their kind."""
    named = getattr(fitted, "named_estimators_", None)
    if named is not None:
        return f"Members: {', '.join(f'{name} ({_kind(member)})' for name, member in named.items())}."
    leaves = leaves_of(fitted)
    n_members = count_members(fitted)
    word = "tree" if n_members == 1 else "trees"
    if leaves is None:
        return f"{n_members} members."
    spread = f", from {leaves.min()} to {leaves.max()}" if leaves.min() < leaves.max() else ""
    return f"{n_members} {word} with {leaves.mean():.1f} leaves on average{spread}.{rounds_sentence(fitted)}"


def rounds_sentence(fitted: Any) -> str:
    """Rounds, learning rate and growth of a boosted model; empty for other models."""
    forests = getattr(fitted, "forests_", None)
    if forests is None:
        return ""
    from treewright.estimators.boosting.fitting import MOST_ROUNDS

    n_rounds = len(forests[0])
    rounds = "1 round" if n_rounds == 1 else f"{n_rounds} rounds"
    each = "" if len(forests) == 1 else f" of {len(forests)} trees, one for each class"
    is_chosen, is_most = len(fitted.validation_loss_) > 0, n_rounds == MOST_ROUNDS and fitted.n_estimators == "auto"
    chosen = f", {'the most that are tried' if is_most else 'chosen on a validation set'}" if is_chosen else ""
    growth = {"best": "best leaf first", "level": "level by level", "oblivious": "one split per level"}
    shape = growth[fitted.shape_.growth]
    return f" {rounds}{each}{chosen}; learning rate {fitted.learning_rate_:g}, {shape}."


def _kind(member: Any) -> str:
    """The class of a member; of a pipeline the class of its last step."""
    steps = getattr(member, "steps", None)
    return type(steps[-1][1] if steps else member).__name__


def out_of_bag_sentence(fitted: Any) -> str:
    measure = "accuracy" if hasattr(fitted, "classes_") else "R2"
    return (
        f"Out of bag: {measure} {fitted.oob_score_:.3f}, each row predicted by the members that were not fitted to it."
    )


def describe_ensemble(fitted: Any) -> dict[str, Any]:
    """The summary as plain values, ready for JSON."""
    leaves = leaves_of(fitted)
    posterior = getattr(fitted, "posterior_", None)
    described: dict[str, Any] = {
        "n_members": count_members(fitted),
        "mean_n_leaves": None if leaves is None else float(leaves.mean()),
        "out_of_bag_score": getattr(fitted, "oob_score_", None),
        "importances": [{"column": name, "importance": share} for name, share in importances_of(fitted)],
    }
    if hasattr(fitted, "named_estimators_"):
        described["members"] = {name: _kind(member) for name, member in fitted.named_estimators_.items()}
    if hasattr(fitted, "forests_"):
        described |= {"n_rounds": fitted.n_estimators_, "learning_rate": fitted.learning_rate_}
        described["growth"] = fitted.shape_.growth
    if posterior is not None:
        described["weights"] = dict(zip(posterior.names, posterior.weights.tolist(), strict=True))
    return described
