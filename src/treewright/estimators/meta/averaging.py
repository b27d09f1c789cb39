"""Bayesian averaging: members are weighted by their posterior probability."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.model_selection import cross_val_predict
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from treewright.engines.elementary import exp_of, log_of
from treewright.estimators.chunks import by_chunks
from treewright.estimators.meta.combining import Combination, Named, Task, default_members
from treewright.estimators.meta.voting import votes_of
from treewright.estimators.parameter_docs import documented
from treewright.estimators.parameters import is_real, parameter_error, store_parameters
from treewright.runtime.sums import weighted_sum
from treewright.table import read_classes, read_numbers
from treewright.table.selection import open_rows

APPROXIMATIONS = ("bootstrap", "plain")

# Draws of the Bayesian bootstrap; fewer for very many rows, where the draws vary less.
DRAWS = 1000
LEAST_DRAWS = 100
MOST_DRAWN_WEIGHTS = 20_000_000


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior probability of each member; prints as a table.

    Parameters
    ----------
    names : tuple of str
        The members.
    prior : ndarray
        The prior probability of each member.
    log_likelihoods : ndarray
        The out-of-fold log-likelihood of each member.
    weights : ndarray
        The posterior probability of each member: the weights of the average.
    """

    names: tuple[str, ...]
    prior: np.ndarray
    log_likelihoods: np.ndarray
    weights: np.ndarray

    def __str__(self) -> str:
        width = max(len("member"), *map(len, self.names))
        lines = [f"{'member':<{width}}  prior   log likelihood  weight"]
        figures = zip(self.names, self.prior, self.log_likelihoods, self.weights, strict=True)
        lines += [
            f"{name:<{width}}  {prior:<6.4f}  {likelihood:<14.2f}  {weight:.4f}"
            for name, prior, likelihood, weight in figures
        ]
        return "\n".join(lines)

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Averaged:
    """Fitted members and their posterior."""

    estimators_: list[Any]
    posterior: Posterior
    # The deviation of each member's errors; for classes its error rate, NaN if it has `predict_proba`.
    spread: np.ndarray


class Averaging(Combination):
    """Shared base of averaging for classes and for numbers."""

    def _check_parameters(self) -> None:
        if self.approximation not in APPROXIMATIONS:
            raise parameter_error("approximation", self.approximation, "'bootstrap' or 'plain'")

    def _fit_members(self, members: Named, task: Task) -> Averaged:
        prior = read_prior(self.prior, [name for name, _ in members])
        cv = task.deal() if self.cv is None else self.cv
        validated = [self._log_likelihoods(member, task, cv) for _, member in members]
        by_row = np.column_stack([densities for densities, _ in validated])
        if task.weights is not None:
            by_row = by_row * (task.weights / task.weights.mean())[:, None]
        weights = posterior_weights(by_row, prior, bootstrap=self.approximation == "bootstrap")
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(_fit)(member, task.X, task.y, task.fit_options()) for _, member in members
        )
        posterior = Posterior(tuple(name for name, _ in members), prior, by_row.sum(axis=0), weights)
        return Averaged(list(fitted), posterior, np.array([spread for _, spread in validated]))

    def _log_likelihoods(self, member: Any, task: Task, cv: Any) -> tuple[np.ndarray, float]:
        """The out-of-fold log-likelihood of each row, and the spread of the member's errors."""
        raise NotImplementedError

    def _out_of_fold(self, member: Any, task: Task, cv: Any, method: str) -> np.ndarray:
        options = {} if task.weights is None else {"params": task.fit_options()}
        return np.asarray(
            cross_val_predict(clone(member), task.X, task.y, cv=cv, method=method, n_jobs=self.n_jobs, **options)
        )

    def _keep(self, found: Averaged, names: list[str], task: Task) -> None:
        super()._keep(found, names, task)
        del self.ensemble_
        self.posterior_ = found.posterior
        self.weights_ = found.posterior.weights
        self._spread = found.spread

    def member_weights(self) -> np.ndarray:
        return self.weights_


def _fit(member: Any, X: Any, y: np.ndarray, options: dict[str, Any]) -> Any:
    return clone(member).fit(X, y, **options)


def read_prior(prior: Any, names: list[str]) -> np.ndarray:
    """The prior probability of each member; the sum is 1.

    >>> read_prior({"tree": 3}, ["nearest", "tree"])
    array([0.25, 0.75])
    """
    if isinstance(prior, Mapping):
        unknown = [name for name in prior if name not in names]
        if unknown:
            raise ValueError(f"prior names {unknown[0]!r}, but the members are {', '.join(map(repr, names))}")
        prior = [prior.get(name, 1.0) for name in names]
    priors = [1.0] * len(names) if prior is None else prior
    if isinstance(priors, str) or not hasattr(priors, "__len__") or len(priors) != len(names):
        raise parameter_error("prior", prior, f"a number for each of the {len(names)} members, a dict by name, or None")
    if not all(is_real(one) and one >= 0 for one in priors) or not any(priors):
        raise parameter_error("prior", prior, "numbers of 0 or more, not all 0")
    checked = np.array(priors, dtype=np.float64)
    return checked / checked.sum()


def posterior_weights(by_row: np.ndarray, prior: np.ndarray, *, bootstrap: bool = True) -> np.ndarray:
    """The posterior weights of members, given the log-likelihood of each row (a row) by each member (a column).

    Without bootstrap they are proportional to the prior times the likelihood of all rows. The bootstrap averages them
    over samples of the rows, weighted from a Dirichlet distribution. The samples are always the same.

    >>> posterior_weights(np.log([[0.6, 0.3], [0.5, 0.5]]), np.array([0.5, 0.5]), bootstrap=False).round(3)
    array([0.667, 0.333])
    """
    log_prior = log_of(prior)
    if not bootstrap:
        return _softmax(by_row.sum(axis=0) + log_prior)
    n_rows = len(by_row)
    draws = min(DRAWS, max(LEAST_DRAWS, MOST_DRAWN_WEIGHTS // n_rows))
    random = np.random.RandomState(0)
    # Only differences between members matter; relative to the best one, sums over many rows stay exact.
    relative = by_row - by_row.max(axis=1, keepdims=True)
    total = np.zeros(by_row.shape[1])
    for _ in range(draws):
        counts = -log_of(1.0 - random.random_sample(n_rows))  # of the exponential distribution
        total += _softmax(n_rows / counts.sum() * (counts[:, None] * relative).sum(axis=0) + log_prior)
    return total / draws


def _softmax(logarithms: np.ndarray) -> np.ndarray:
    powers = exp_of(logarithms - logarithms.max())
    return powers / powers.sum()


@documented("meta", "combination", "averaging", "classes")
class BayesianAveragingClassifier(ClassifierMixin, Averaging):
    """Classifiers of different kinds, averaged by their posterior probability.

    The posterior probability of a model is proportional to its prior times its marginal likelihood. For trees,
    neighbours and support vector machines the marginal likelihood has no useful form. The pseudo-marginal likelihood
    replaces it (Geisser and Eddy 1979): the product over all rows of the out-of-fold probability of the row's class.

    With many rows such a product gives all weight to one member, even where the second best differs only by chance. By
    default the weights are therefore the mean over Bayesian bootstrap samples of the rows: pseudo-BMA+ of Yao, Vehtari,
    Simpson and Gelman (2018). Members that the data do not distinguish then share the weight.

    A probability of 0 would exclude a member by one row. Each probability is therefore mixed with the class
    frequencies, which count as one row. A member without `predict_proba` is treated as one with random errors (Domingos
    2000): its prediction has the probability 1 - e and the other classes share e, its out-of-fold error rate.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from treewright import DecisionTreeClassifier, datasets
    >>> from treewright import BayesianAveragingClassifier
    >>> iris = datasets.load_iris()
    >>> members = [("stump", DecisionTreeClassifier(max_depth=1)), ("bayes", GaussianNB())]
    >>> model = BayesianAveragingClassifier(members).fit(iris.X, iris.y)
    >>> model.weights_.round(2)
    array([0., 1.])
    """

    def __init__(
        self,
        estimators: Named | None = None,
        *,
        prior: Any = None,
        approximation: str = "bootstrap",
        cv: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any) -> np.ndarray:
        """The class with the highest probability."""
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]

    @by_chunks
    def predict_proba(self, X: Any) -> np.ndarray:
        """The members' probabilities of each class, in the order of `classes_`, averaged by `weights_`."""
        return weighted_sum(self._posterior_weights(), self.member_predictions(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy: the fraction of rows whose class is predicted correctly."""
        labels, classes = read_classes(y)
        return float(super().score(X, classes[labels], sample_weight))

    def _posterior_weights(self) -> np.ndarray:
        check_is_fitted(self)
        return self.weights_

    def member_predictions(self, X: Any) -> np.ndarray:
        """The class probabilities of each member for each row."""
        check_is_fitted(self)
        rows = open_rows(X)
        return np.array(
            [self._shares(member, rows, error) for member, error in zip(self.estimators_, self._spread, strict=True)]
        )

    def _shares(self, member: Any, rows: Any, error: float) -> np.ndarray:
        if np.isnan(error):
            return np.asarray(member.predict_proba(rows))
        places = np.searchsorted(self.classes_, member.predict(rows))
        return noisy_votes(places, error, len(self.classes_))

    def _default_members(self, task: Task) -> Named:
        return default_members(task, shares=True)

    def _log_likelihoods(self, member: Any, task: Task, cv: Any) -> tuple[np.ndarray, float]:
        n_rows, n_classes = len(task.y), len(task.classes)
        labels = np.searchsorted(task.classes, task.y)
        if hasattr(member, "predict_proba"):
            shares, error = self._out_of_fold(member, task, cv, "predict_proba"), np.nan
        else:
            places = np.searchsorted(task.classes, self._out_of_fold(member, task, cv, "predict"))
            # Laplace's correction: a member without errors does not get the probability 1.
            error = (np.count_nonzero(places != labels) + 1.0) / (n_rows + 2.0)
            shares = noisy_votes(places, error, n_classes)
        overall = np.bincount(labels, minlength=n_classes) / n_rows
        mixed = (n_rows * shares[np.arange(n_rows), labels] + overall[labels]) / (n_rows + 1.0)
        return log_of(mixed), float(error)


def noisy_votes(places: np.ndarray, error: float, n_classes: int) -> np.ndarray:
    """Class probabilities of a member whose predictions have random errors at this rate.

    >>> noisy_votes(np.array([1]), 0.2, 3)
    array([[0.1, 0.8, 0.1]])
    """
    if n_classes == 1:
        return np.ones((len(places), 1))
    rest = error / (n_classes - 1)
    return rest + (1.0 - error - rest) * votes_of(places[None, :], np.ones(1), n_classes)


@documented("meta", "combination", "averaging", "numbers")
class BayesianAveragingRegressor(RegressorMixin, Averaging):
    """Regressors of different kinds, averaged by their posterior probability.

    The posterior probability of a model is proportional to its prior times its marginal likelihood. The pseudo-marginal
    likelihood replaces the latter (Geisser and Eddy 1979): the product over all rows of the out-of-fold density of the
    row's target. The density is normal, with the prediction as its mean and the out-of-fold error as its deviation.

    With many rows such a product gives all weight to one member, even where the second best differs only by chance. By
    default the weights are therefore the mean over Bayesian bootstrap samples of the rows: pseudo-BMA+ of Yao, Vehtari,
    Simpson and Gelman (2018). Members that the data do not distinguish then share the weight.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from treewright import DecisionTreeRegressor
    >>> from treewright import BayesianAveragingRegressor
    >>> table, y = {"x": list(range(20))}, [2.0 * x + (x % 3) for x in range(20)]
    >>> members = [("line", LinearRegression()), ("stump", DecisionTreeRegressor(max_depth=1))]
    >>> model = BayesianAveragingRegressor(members).fit(table, y)
    >>> model.weights_.round(2)
    array([1., 0.])
    >>> mean, deviation = model.predict({"x": [30]}, return_std=True)
    """

    def __init__(
        self,
        estimators: Named | None = None,
        *,
        prior: Any = None,
        approximation: str = "bootstrap",
        cv: Any = None,
        n_jobs: int | None = None,
        progress: bool | None = None,
    ) -> None:
        store_parameters(self, locals())

    @by_chunks
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The members' predictions, averaged by `weights_`.

        Parameters
        ----------
        X : table
        return_std : bool, default=False
            Whether to return also the standard deviation: the members' errors, and their distance from the mean.
        """
        predictions = self.member_predictions(X)
        mean = weighted_sum(self.weights_, predictions)
        if not return_std:
            return mean
        variance = weighted_sum(self.weights_, self._spread[:, None] ** 2 + (predictions - mean) ** 2)
        return mean, np.sqrt(variance)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The coefficient of determination: 1 is perfect, 0 is as good as predicting the mean."""
        return float(super().score(X, read_numbers(y), sample_weight))

    def member_predictions(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        rows = open_rows(X)
        return np.array([member.predict(rows) for member in self.estimators_])

    def _log_likelihoods(self, member: Any, task: Task, cv: Any) -> tuple[np.ndarray, float]:
        errors = task.y - self._out_of_fold(member, task, cv, "predict")
        # At least a thousandth of the target's deviation: the density of a perfect fit would be infinite.
        least = 1e-3 * float(task.y.std()) or 1e-12
        spread = max(float(np.sqrt(np.average(errors**2, weights=task.weights))), least)
        return -0.5 * log_of(2.0 * np.pi * spread**2) - 0.5 * (errors / spread) ** 2, spread
