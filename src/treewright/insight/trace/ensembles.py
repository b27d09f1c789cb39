"""Replay of ensembles: weights of AdaBoost, residuals of gradient boosting, bootstrap samples and out-of-bag votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from treewright.estimators.base import read_rows
from treewright.estimators.weights import read_weights
from treewright.insight.trace.steps import AdaBoostStep, BoostedLeaf, BoostingStep, BootstrapStep, VoteStep
from treewright.table import read_classes, read_numbers
from treewright.tree.descent import leaves_of
from treewright.tree.tree import Tree

# No positive weight becomes smaller in AdaBoost, so no row is lost.
LEAST_WEIGHT = float(np.finfo(np.float64).eps)

Steps = tuple[list[Any], list[str]]


def _targets(model: Any, y: Any) -> np.ndarray:
    if not is_classifier(model):
        return read_numbers(y)
    labels, classes = read_classes(y)
    own = model.classes_.tolist()
    strange = [name for name in classes.tolist() if name not in own]
    if strange:
        raise ValueError(f"y has the class {strange[0]!r}, which the model was not fitted with; give the training rows")
    return np.array([own.index(name) for name in classes.tolist()])[labels]


def _first_tree(member: Any) -> str:
    """The split at the root of a member, in a few words."""
    tree = getattr(member, "tree_", None)
    if not isinstance(tree, Tree):
        return type(member).__name__
    tests = tree.root.tests
    return f"{tests[0]}, {tree.n_leaves} leaves" if tests else "a single leaf"


def trace_adaboost(model: Any, X: Any, y: Any, sample_weight: Any, n_rounds: int) -> Steps:
    """The rounds of AdaBoost, recomputed from the predictions of the members."""
    targets = _targets(model, y)
    weights = read_weights(sample_weight, len(targets))
    weights = weights / weights.max()
    weights = weights / weights.sum()
    counts = weights > 0.0
    predictions = model.member_predictions(X)
    if is_classifier(model):
        place = {name: index for index, name in enumerate(model.classes_.tolist())}
        predictions = np.array([[place[name] for name in line] for line in predictions.tolist()])
    steps = []
    for number, predicted in enumerate(predictions[:n_rounds], start=1):
        before = np.where(counts, np.maximum(weights, LEAST_WEIGHT), 0.0)
        wrong, error, member_weight, changed = _adaboost_round(model, predicted, targets, before, counts)
        total = float(changed.sum())
        weights = changed / total
        tree = _first_tree(model.estimators_[number - 1])
        steps.append(AdaBoostStep(number, before, wrong, error, member_weight, total, weights, tree))
    notes = [] if n_rounds >= len(predictions) else [f"{len(predictions) - n_rounds} more rounds are not shown."]
    return steps, notes


def _adaboost_round(
    model: Any, predicted: np.ndarray, targets: np.ndarray, weights: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, float, float, np.ndarray]:
    """What is wrong, the error, the weight of the member, and the row weights before they are divided by their sum."""
    rate = float(model.learning_rate)
    if is_classifier(model):
        n_classes = len(model.classes_)
        wrong = predicted != targets
        error = float(np.average(wrong, weights=weights))
        if error <= 0.0 or error >= 1.0 - 1.0 / n_classes:
            return wrong, error, 1.0, weights
        weight = rate * float(np.log((1.0 - error) / error) + np.log(n_classes - 1.0))
        return wrong, error, weight, weights * np.exp(weight * wrong)
    distances = np.where(counts, np.abs(predicted - targets), 0.0)
    losses = distances / distances.max() if distances.max() > 0.0 else distances
    losses = {"square": losses**2, "exponential": 1.0 - np.exp(-losses)}.get(model.loss, losses)
    error = float((weights * losses).sum())
    if error <= 0.0 or error >= 0.5:
        return losses, error, 1.0, weights
    beta = error / (1.0 - error)
    return losses, error, rate * float(np.log(1.0 / beta)), weights * np.power(beta, (1.0 - losses) * rate)


def trace_boosting(model: Any, X: Any, y: Any, n_rounds: int) -> Steps:
    """The first rounds of gradient boosting: scores, residuals and leaf values."""
    targets = np.asarray(_boosting_targets(model, y), dtype=np.float64)
    loss = type(model.loss_).__name__
    if loss not in ("Squared", "LogLoss", "ManyClasses") or model.init_ is not None:
        return [], [f"The rounds of the loss {model.loss!r} are not shown; those of squared error and log loss are."]
    values = model.target_encoding_.apply(read_rows(model, X))
    scores = np.repeat(np.asarray(model.initial_)[:, None], len(targets), axis=1)
    outputs = [""] if len(model.forests_) == 1 else [str(name) for name in model.target_.classes]
    steps: list[BoostingStep] = []
    counted = True
    for number in range(min(n_rounds, model.n_estimators_)):
        gradients, hessians = _derivatives(loss, scores, targets)
        before = scores.copy()
        for output, forest in enumerate(model.forests_):
            tree = forest[number]
            nodes = leaves_of(tree, values)
            counted = counted and int(tree.rows[0]) == len(targets)
            scores[output] = before[output] + tree.predictions[nodes, 0]
            leaves = _boosted_leaves(tree, nodes, gradients[output], hessians[output])
            value = _loss(loss, scores if output == len(outputs) - 1 else before, targets)
            figures = (before[output], -gradients[output], leaves, scores[output].copy(), value)
            steps.append(BoostingStep(number + 1, outputs[output], *figures))
    notes = []
    if not counted:
        notes.append(
            "Some rows were set aside as a validation set or by sampling, so that the sums of a leaf over all rows "
            "given here are not those of training; the leaf values are those of the trees."
        )
    if model.n_estimators_ > n_rounds:
        notes.append(f"{model.n_estimators_ - n_rounds} more rounds are not shown.")
    return steps, notes


def _boosting_targets(model: Any, y: Any) -> np.ndarray:
    """Numbers, or labels in the order of the target's classes."""
    if not is_classifier(model):
        return read_numbers(y)
    labels, classes = read_classes(y)
    own = list(model.target_.classes)
    return np.array([own.index(name) for name in classes.tolist()])[labels]


def _derivatives(loss: str, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradients and hessians of the loss, a line per output."""
    if loss == "Squared":
        return scores - targets, np.ones_like(scores)
    if loss == "LogLoss":
        share = 1.0 / (1.0 + np.exp(-scores))
        return share - targets, np.maximum(share * (1.0 - share), 1e-16)
    shares = np.exp(scores - scores.max(axis=0))
    shares /= shares.sum(axis=0)
    is_class = np.arange(len(scores))[:, None] == targets[None]
    factor = len(scores) / (len(scores) - 1.0)  # Friedman 2001
    return shares - is_class, np.maximum(factor * shares * (1.0 - shares), 1e-16)


def _loss(loss: str, scores: np.ndarray, targets: np.ndarray) -> float:
    if loss == "Squared":
        return float((0.5 * (scores[0] - targets) ** 2).mean())
    if loss == "LogLoss":
        return float((np.logaddexp(0.0, scores[0]) - targets * scores[0]).mean())
    return float((np.logaddexp.reduce(scores, axis=0) - scores[targets.astype(int), np.arange(len(targets))]).mean())


def _boosted_leaves(
    tree: Tree, nodes: np.ndarray, gradients: np.ndarray, hessians: np.ndarray
) -> tuple[BoostedLeaf, ...]:
    paths: dict[int, tuple[str, ...]] = {0: ()}
    leaves = []
    for node in tree:
        path = paths[node.index]
        for test, child in zip(node.tests, node.children, strict=True):
            paths[child.index] = (*path, str(test))
        if node.is_leaf:
            here = nodes == node.index
            sums = (float(gradients[here].sum()), float(hessians[here].sum()))
            words = " and ".join(path) or "all rows"
            leaves.append(BoostedLeaf(words, int(here.sum()), *sums, float(tree.predictions[node.index, 0])))
    return tuple(leaves)


def trace_bootstrap(model: Any, X: Any, y: Any, n_members: int) -> Steps:
    """The bootstrap samples of a forest or of bagging, and the out-of-bag votes."""
    targets = _targets(model, y)
    samples = model.estimators_samples_
    predictions = _member_predictions(model, X)
    drawn = np.array([np.bincount(sample, minlength=len(targets)) for sample in samples])
    steps: list[Any] = []
    for number in range(min(n_members, len(samples))):
        outside = np.flatnonzero(drawn[number] == 0)
        correct, error = _error_outside(model, predictions[number], targets, outside)
        tree = _first_tree(model.estimators_[number])
        steps.append(BootstrapStep(number + 1, drawn[number], outside, correct, error, tree))
    notes = [] if n_members >= len(samples) else [f"{len(samples) - n_members} more members are not shown."]
    if not (drawn == 0).any():
        return steps, [*notes, "Every member was fitted to every row, so that there are no out-of-bag votes."]
    return [*steps, _votes(model, predictions, drawn == 0, targets)], notes


def _member_predictions(model: Any, X: Any) -> np.ndarray:
    """Class shares of each member, [member, row, class], or numbers, [member, row, 1]."""
    predictions = np.asarray(model.member_predictions(X))
    if not is_classifier(model):
        return predictions.reshape(*predictions.shape[:2], 1).astype(np.float64)
    if predictions.ndim == 3:
        shares = predictions.astype(np.float64)
    else:
        shares = (predictions[:, :, None] == model.classes_[None, None, :]).astype(np.float64)
    if getattr(model, "voting", "soft") == "hard" and predictions.ndim == 3:
        shares = np.eye(shares.shape[2])[shares.argmax(axis=2)]
    return shares


def _error_outside(
    model: Any, predicted: np.ndarray, targets: np.ndarray, outside: np.ndarray
) -> tuple[float | None, float | None]:
    if not len(outside):
        return None, None
    if is_classifier(model):
        right = predicted[outside].argmax(axis=1) == targets[outside]
        return float(right.sum()), float(1.0 - right.mean())
    return None, float(np.mean((predicted[outside, 0] - targets[outside]) ** 2))


def _votes(model: Any, predictions: np.ndarray, outside: np.ndarray, targets: np.ndarray) -> VoteStep:
    voters = outside.sum(axis=0)
    summed = (predictions * outside[:, :, None]).sum(axis=0)
    votes = np.full(summed.shape, np.nan)
    np.divide(summed, voters[:, None], out=votes, where=voters[:, None] > 0)
    known = voters > 0
    if is_classifier(model):
        labels = np.where(known, np.nan_to_num(votes, nan=-1.0).argmax(axis=1), -1)
        score = float((labels[known] == targets[known]).mean())
        names = np.array([*model.classes_.tolist(), None], dtype=object)
        return VoteStep(voters, votes, names[labels], names[targets], score)
    spread = float(((targets[known] - targets[known].mean()) ** 2).sum())
    error = float(((targets[known] - votes[known, 0]) ** 2).sum())
    return VoteStep(voters, votes, votes[:, 0], targets, 1.0 - error / spread if spread > 0.0 else 0.0)
