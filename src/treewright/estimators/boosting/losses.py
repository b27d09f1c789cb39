"""The losses of gradient boosting, with gradients, hessians and initial scores."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from treewright.engines.boosting.losses import (
    EXPONENTIAL,
    HUBER,
    LOG_LOSS,
    MANY_CLASSES,
    QUANTILE,
    SQUARED,
    TWEEDIE,
    derive_rows,
)
from treewright.engines.boosting.own_loss import OwnFunction, check_derivatives
from treewright.engines.elementary import exp_of, log_of
from treewright.estimators.parameters import is_real, parameter_error
from treewright.runtime.forms import choose_compiled_form

# Nodes and weights of Gauss-Legendre quadrature between 0 and 1.
QUADRATURE = [0.5 * (line + shift) for line, shift in zip(np.polynomial.legendre.leggauss(12), (1.0, 0.0), strict=True)]

# Rows whose labels are converted to numbers together.
ROWS_CONVERTED = 1 << 16

# Class probabilities are clipped to this distance from 0 and 1 before logarithms.
LEAST_PROBABILITY = 1e-15


class Loss(ABC):
    """A loss of scores (one line per output) and targets."""

    n_outputs = 1
    # The code of the compiled loss, and its parameter.
    kind: ClassVar[int]
    parameter = 0.0
    # Whether leaf values are computed from residuals instead of gradients and hessians.
    leaves_from_residuals = False

    def check_targets(self, targets: np.ndarray) -> None:
        """Refuse targets that the loss is not defined for."""
        del targets

    def unit(self, scale: float) -> float:
        """How many times as large the loss is if scores and targets are; 0 if its gradients have no such scale."""
        del scale
        return 0.0

    @abstractmethod
    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The best constant score, per output."""

    def adapt(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        """Prepare for a round with these scores; called before the gradients are computed."""
        del scores, targets, weights

    def fill(
        self,
        scores: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        rows: tuple[int, int],
        gradients: np.ndarray,
        hessians: np.ndarray,
    ) -> None:
        """Write gradients and hessians of a range of rows, a line per output, times weights if there are any."""
        derive, given = choose_compiled_form()(derive_rows), (self.kind, float(self.parameter))
        if targets.dtype == np.float64:
            derive(*given, scores, targets, weights, *rows, gradients, hessians)
            return
        for first in range(*rows, ROWS_CONVERTED):
            part = slice(first, min(first + ROWS_CONVERTED, rows[1]))
            numbers, own_weights = targets[part].astype(np.float64), weights[part] if len(weights) else weights
            arrays = (scores[:, part], numbers, own_weights, 0, len(numbers), gradients[:, part], hessians[:, part])
            derive(*given, *arrays)

    def derive(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians of all rows, a line per output."""
        gradients, hessians = np.empty_like(scores), np.empty_like(scores)
        self.fill(scores, targets, np.empty(0), (0, scores.shape[1]), gradients, hessians)
        return gradients, hessians

    @property
    def goes_row_by_row(self) -> bool:
        """Whether several threads may compute ranges of rows at the same time."""
        return True

    @property
    def sums_are_enough(self) -> bool:
        """Whether workers with some rows each need only sums over the rows of the others."""
        return not self.leaves_from_residuals

    def check_filled(self, gradients: np.ndarray, hessians: np.ndarray) -> None:
        """Refuse gradients and hessians that are not valid."""
        del gradients, hessians

    def fresh(self) -> Loss:
        """A copy of the loss for other rows."""
        return copy.copy(self)

    @abstractmethod
    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        """The mean loss."""

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        """The predictions of the scores: numbers, or class probabilities, a column each."""
        return scores.T

    def leaf(self, residuals: np.ndarray, weights: np.ndarray) -> float:
        """The best value of a leaf for the residuals of its rows."""
        raise NotImplementedError


class Squared(Loss):
    """Half the squared error."""

    kind = SQUARED

    def unit(self, scale: float) -> float:
        return scale * scale

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.array([np.average(targets, weights=weights)])

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return float(np.average(0.5 * (scores[0] - targets) ** 2, weights=weights))


class Quantile(Loss):
    """The pinball loss, whose best constant is a quantile."""

    kind = QUANTILE
    leaves_from_residuals = True

    def __init__(self, quantile: float) -> None:
        self.parameter = quantile

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.array([weighted_quantile(targets, weights, self.parameter)])

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        errors = targets - scores[0]
        losses = np.where(errors > 0.0, self.parameter * errors, (self.parameter - 1.0) * errors)
        return float(np.average(losses, weights=weights))

    def leaf(self, residuals: np.ndarray, weights: np.ndarray) -> float:
        return weighted_quantile(residuals, weights, self.parameter)


class Absolute(Quantile):
    """The absolute error, whose best constant is the median."""

    def __init__(self) -> None:
        super().__init__(0.5)

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return 2.0 * super().value(scores, targets, weights)


class Huber(Loss):
    """Squared for small errors and linear for large ones; a quantile of the errors before each round is the border.

    The border falls with the errors, so that outliers lose their weight as the others are fitted (Friedman 2001). With
    it the values of different rounds are not comparable: the validation loss is the mean absolute error.
    """

    kind = HUBER
    sums_are_enough = False  # the border is a quantile of the errors of all rows

    def __init__(self, share: float) -> None:
        self.share = share
        self.parameter = 1.0

    def unit(self, scale: float) -> float:
        return scale

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.array([weighted_quantile(targets, weights, 0.5)])

    def adapt(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        border = weighted_quantile(np.abs(targets - scores[0]), weights, self.share)
        self.parameter = border if border > 0.0 else 1.0

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return float(np.average(np.abs(targets - scores[0]), weights=weights))


class Tweedie(Loss):
    """The Tweedie deviance of power p with the logarithm as link: 1 is Poisson, 2 is gamma."""

    kind = TWEEDIE

    def __init__(self, power: float) -> None:
        self.parameter = power

    def check_targets(self, targets: np.ndarray) -> None:
        least = targets.min() if targets.size else 1.0
        if least < 0.0 or (self.parameter == 2.0 and least == 0.0):
            wanted = "strictly positive y" if self.parameter == 2.0 else "non-negative y and sum(y) > 0"
            raise ValueError(f"requires {wanted}, but the least is {least:g}")

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return log_of([max(np.average(targets, weights=weights), 1e-300)])

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        score, p = scores[0], self.parameter
        if p == 1.0:
            losses = exp_of(score) - targets * score
        elif p == 2.0:
            losses = targets * exp_of(-score) + score
        else:
            losses = exp_of((2.0 - p) * score) / (2.0 - p) - targets * exp_of((1.0 - p) * score) / (1.0 - p)
        return float(np.average(losses, weights=weights))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        return exp_of(scores).T


class LogLoss(Loss):
    """The negative log-likelihood of two classes, by one score."""

    kind = LOG_LOSS

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        share = np.clip(np.average(targets, weights=weights), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        return log_of([share / (1.0 - share)])

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        score = scores[0]
        losses = np.maximum(score, 0.0) + log_of(1.0 + exp_of(-np.abs(score))) - targets * score
        return float(np.average(losses, weights=weights))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        share = logistic(scores[0])
        return np.column_stack([1.0 - share, share])


class ManyClasses(Loss):
    """The negative log-likelihood of several classes, by a score per class."""

    kind = MANY_CLASSES

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        totals = np.bincount(targets.astype(np.intp), weights, minlength=self.n_outputs)
        return log_of(np.maximum(totals / totals.sum(), LEAST_PROBABILITY))

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        of_truth = softmax(scores)[targets.astype(np.intp), np.arange(len(targets))]
        return float(np.average(-log_of(np.maximum(of_truth, LEAST_PROBABILITY)), weights=weights))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        return softmax(scores).T


class Exponential(Loss):
    """AdaBoost's loss of two classes: exp(-score) where the class is the second, else exp(score)."""

    kind = EXPONENTIAL

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        share = np.clip(np.average(targets, weights=weights), LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        return 0.5 * log_of([share / (1.0 - share)])

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        return float(np.average(exp_of((1.0 - 2.0 * targets) * scores[0]), weights=weights))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        share = logistic(2.0 * scores[0])
        return np.column_stack([1.0 - share, share])


class Own(Loss):
    """A loss of the user's: a function of prediction and target that returns gradient and hessian.

    For two classes, the prediction is the score whose logistic function is the probability of the second.
    """

    sums_are_enough = False  # a function of the user may look at all rows

    def __init__(self, function: Callable[..., Any], of_classes: bool) -> None:
        self.function = OwnFunction(function)
        self.of_classes = of_classes
        self.start = 0.0

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        self.start = 0.0 if self.of_classes else float(np.average(targets, weights=weights))
        return np.array([self.start])

    def fill(
        self,
        scores: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        rows: tuple[int, int],
        gradients: np.ndarray,
        hessians: np.ndarray,
    ) -> None:
        taken = slice(*rows)
        g, h = gradients[0, taken], hessians[0, taken]
        self.function.fill(scores[0, taken], targets[taken].astype(np.float64, copy=False), g, h)
        if len(weights):
            g *= weights[taken]
            h *= weights[taken]

    @property
    def goes_row_by_row(self) -> bool:
        return self.function.is_compiled

    def check_filled(self, gradients: np.ndarray, hessians: np.ndarray) -> None:
        check_derivatives(gradients, hessians)

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        """The mean loss minus that of the initial score: the integral of the gradient between the two."""
        way = scores - self.start
        steps = [
            share * self.derive(self.start + place * way, targets)[0] for place, share in zip(*QUADRATURE, strict=True)
        ]
        return float(np.average((way * np.sum(steps, axis=0))[0], weights=weights))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        if not self.of_classes:
            return scores.T
        share = logistic(scores[0])
        return np.column_stack([1.0 - share, share])


class ManyOutputs(Loss):
    """The mean of the losses of several numbers, each with a score of its own."""

    def __init__(self, losses: Sequence[Loss]) -> None:
        self.losses = list(losses)
        self.n_outputs = len(self.losses)
        self.leaves_from_residuals = self.losses[0].leaves_from_residuals

    def fresh(self) -> Loss:
        return ManyOutputs([loss.fresh() for loss in self.losses])

    def unit(self, scale: float) -> float:
        return self.losses[0].unit(scale)

    def check_targets(self, targets: np.ndarray) -> None:
        for loss, line in zip(self.losses, targets, strict=True):
            loss.check_targets(line)

    @property
    def goes_row_by_row(self) -> bool:
        return all(loss.goes_row_by_row for loss in self.losses)

    @property
    def sums_are_enough(self) -> bool:
        return all(loss.sums_are_enough for loss in self.losses)

    def check_filled(self, gradients: np.ndarray, hessians: np.ndarray) -> None:
        for k, loss in enumerate(self.losses):
            loss.check_filled(gradients[k : k + 1], hessians[k : k + 1])

    def begin(self, targets: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.concatenate([loss.begin(line, weights) for loss, line in zip(self.losses, targets, strict=True)])

    def adapt(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> None:
        for k, loss in enumerate(self.losses):
            loss.adapt(scores[k : k + 1], targets[k], weights)

    def fill(
        self,
        scores: np.ndarray,
        targets: np.ndarray,
        weights: np.ndarray,
        rows: tuple[int, int],
        gradients: np.ndarray,
        hessians: np.ndarray,
    ) -> None:
        for k, loss in enumerate(self.losses):
            one = slice(k, k + 1)
            loss.fill(scores[one], targets[k], weights, rows, gradients[one], hessians[one])

    def value(self, scores: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> float:
        values = [loss.value(scores[k : k + 1], targets[k], weights) for k, loss in enumerate(self.losses)]
        return float(np.mean(values))

    def prediction(self, scores: np.ndarray) -> np.ndarray:
        return np.hstack([loss.prediction(scores[k : k + 1]) for k, loss in enumerate(self.losses)])

    def leaf(self, residuals: np.ndarray, weights: np.ndarray) -> float:
        return self.losses[0].leaf(residuals, weights)


def logistic(scores: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + exp_of(-scores)))


def softmax(scores: np.ndarray) -> np.ndarray:
    """Class probabilities by column, from scores by row."""
    raised = exp_of(scores - scores.max(axis=0))
    return np.asarray(raised / raised.sum(axis=0))


def weighted_quantile(numbers: np.ndarray, weights: np.ndarray, quantile: float) -> float:
    """The least number with at least this share of the weight at or below it; halfway to the next on a tie.

    >>> weighted_quantile(np.array([3.0, 1.0, 2.0, 9.0]), np.ones(4), 0.5)
    2.5
    """
    if len(numbers) > 1 and (weights == 1.0).all():
        return _quantile(numbers, quantile)
    order = np.argsort(numbers, kind="stable")
    passed = np.cumsum(weights[order])
    wanted = quantile * passed[-1]
    place = min(int(np.searchsorted(passed, wanted * (1.0 - 1e-12))), len(numbers) - 1)
    at = float(numbers[order[place]])
    on_edge = abs(passed[place] - wanted) <= 1e-12 * passed[-1] and place + 1 < len(numbers)
    return 0.5 * (at + float(numbers[order[place + 1]])) if on_edge else at


def _quantile(numbers: np.ndarray, quantile: float) -> float:
    """The weighted quantile of at least two rows with weight 1, without sorting all."""
    n_rows = len(numbers)
    wanted = quantile * n_rows
    place = min(max(int(np.ceil(wanted * (1.0 - 1e-12))) - 1, 0), n_rows - 1)
    after = min(place + 1, n_rows - 1)
    ordered = np.partition(numbers, [place, after])
    on_edge = abs(place + 1 - wanted) <= 1e-12 * n_rows
    return 0.5 * (float(ordered[place]) + float(ordered[after])) if on_edge else float(ordered[place])


@dataclass(frozen=True)
class NamedLoss:
    """A row of the table of losses: the kind of target, and how the loss is made from the learner's parameters."""

    of_classes: bool
    make: Callable[[LossChoices], Loss]


@dataclass(frozen=True)
class LossChoices:
    """The parameters of losses: the number of classes (0 for numbers), `quantile` and `tweedie_power`."""

    n_classes: int
    quantile: float = 0.5
    tweedie_power: float = 1.5


LOSSES = {
    "log_loss": NamedLoss(True, lambda given: LogLoss() if given.n_classes == 2 else ManyClasses(given.n_classes)),
    "exponential": NamedLoss(True, lambda given: Exponential()),
    "squared_error": NamedLoss(False, lambda given: Squared()),
    "absolute_error": NamedLoss(False, lambda given: Absolute()),
    "huber": NamedLoss(False, lambda given: Huber(0.9)),
    "quantile": NamedLoss(False, lambda given: Quantile(given.quantile)),
    "poisson": NamedLoss(False, lambda given: Tweedie(1.0)),
    "gamma": NamedLoss(False, lambda given: Tweedie(2.0)),
    "tweedie": NamedLoss(False, lambda given: Tweedie(given.tweedie_power)),
}


@dataclass(frozen=True, eq=False)
class DerivativesOf:
    """A loss object of scikit-learn as a function of scores and targets that returns gradients and hessians."""

    loss: Any

    def __call__(self, scores: np.ndarray, targets: np.ndarray) -> Any:
        scores, targets = np.ascontiguousarray(scores), np.ascontiguousarray(targets, dtype=np.float64)
        return self.loss.gradient_hessian(y_true=targets, raw_prediction=scores)


def function_of(loss: Any) -> Any:
    """The function that a loss of the user is called by."""
    return DerivativesOf(loss) if hasattr(loss, "gradient_hessian") else loss


def read_loss(loss: Any, given: LossChoices) -> Loss:
    """The loss of this name, or a function of the user's."""
    n_classes = given.n_classes
    if callable(loss):
        if n_classes > 2:
            raise ValueError(f"a loss of your own is for numbers or two classes, but y has {n_classes}; use 'log_loss'")
        return Own(function_of(loss), of_classes=n_classes > 0)
    names = [name for name, row in LOSSES.items() if row.of_classes == (n_classes > 0)]
    if not isinstance(loss, str) or loss not in names:
        raise parameter_error("loss", loss, f"one of {', '.join(map(repr, names))}, or a function")
    if loss == "exponential" and n_classes > 2:
        raise ValueError(
            f"loss='exponential' is only suitable for a binary classification problem, but y has {n_classes} classes"
        )
    if not is_real(given.quantile) or not 0.0 < given.quantile < 1.0:
        raise parameter_error("quantile", given.quantile, "a share between 0 and 1")
    if not is_real(given.tweedie_power) or not 1.0 <= given.tweedie_power <= 2.0:
        raise parameter_error("tweedie_power", given.tweedie_power, "a number from 1 (Poisson) to 2 (gamma)")
    return LOSSES[loss].make(given)
