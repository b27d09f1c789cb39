"""Plots of models: what is drawn equals figures that are computed otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.svm import SVC

import treewright
from treewright import plots
from treewright.show.plots.training import oob_errors

pytest.importorskip("matplotlib")


@pytest.fixture
def ax() -> Iterator[Any]:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt.subplots()[1]
    plt.close("all")


@pytest.fixture(scope="module")
def orchard() -> Any:
    """Text, dates, ordered categories and missing values."""
    return treewright.datasets.load_orchard()


@pytest.fixture(scope="module")
def tree(orchard: Any) -> Any:
    return treewright.CARTClassifier().fit(orchard.X, orchard.y)


@pytest.fixture(scope="module")
def forest(orchard: Any) -> Any:
    options = {"n_estimators": 25, "oob_score": True, "random_state": 0}
    return treewright.RandomForestClassifier(**options).fit(orchard.X, orchard.y)


def test_the_boundary_has_the_predictions_of_any_model(ax: Any) -> None:
    X, y = load_iris(return_X_y=True)
    model = SVC().fit(X[:, :2], y)
    assert treewright.plot_boundary(model, X[:, :2], y, resolution=15, ax=ax) is ax
    mesh = ax.collections[0]
    corners = mesh.get_coordinates()
    centres = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    # The centres of the cells are the grid, up to rounding.
    predicted = model.predict(centres.reshape(-1, 2))
    assert (np.asarray(mesh.get_array()).ravel() == predicted).mean() > 0.99


def test_the_boundary_takes_text_dates_and_missing_values(ax: Any, orchard: Any, tree: Any) -> None:
    plots.plot_boundary(tree, orchard.X, orchard.y, columns=("variety", "last_pruned"), resolution=10, ax=ax)
    shown = [label.get_text() for label in ax.get_xticklabels()]
    assert sorted(shown) == sorted({name for name in orchard.X["variety"] if name is not None})
    assert ax.get_yticklabels()[0].get_text().startswith("20")


def test_the_boundary_of_numbers_and_of_a_frame_of_pandas(ax: Any) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = treewright.CARTRegressor().fit(X, y)
    assert plots.plot_boundary(model, X, y, columns=("bmi", "s5"), resolution=10, ax=ax).get_ylabel() == "s5"


def test_the_curve_of_complexity_marks_the_chosen_tree(ax: Any, orchard: Any) -> None:
    found = treewright.cross_validate_ccp_alpha(treewright.CARTClassifier(), orchard.X, orchard.y)
    plots.plot_complexity(found, ax=ax)
    chosen = next(line for line in ax.lines if line.get_marker() == "o")
    assert chosen.get_xdata()[0] == found.leaves[found.chosen]
    assert chosen.get_ydata()[0] == found.losses[found.chosen]


def test_the_last_out_of_bag_error_is_that_of_the_model(ax: Any, orchard: Any, forest: Any) -> None:
    assert oob_errors(forest, orchard.X, orchard.y)[-1] == pytest.approx(1 - forest.oob_score_)
    options = {"n_estimators": 15, "oob_score": True, "random_state": 0}
    bagging = treewright.BaggingClassifier(**options).fit(orchard.X, orchard.y)
    assert oob_errors(bagging, orchard.X, orchard.y)[-1] == pytest.approx(1 - bagging.oob_score_)
    X, y = load_diabetes(return_X_y=True)
    # With enough trees every row is outside of one.
    numbers = treewright.RandomForestRegressor(n_estimators=40, oob_score=True, random_state=0).fit(X, y)
    assert oob_errors(numbers, X, y)[-1] == pytest.approx((1 - numbers.oob_score_) * y.var())
    assert len(plots.plot_oob_error(forest, orchard.X, orchard.y, ax=ax).lines[0].get_xdata()) == 25


def test_the_loss_is_shown_round_by_round(ax: Any, orchard: Any) -> None:
    options = {"n_estimators": 8, "train_score": True, "n_iter_no_change": 5, "validation_fraction": 0.2}
    model = treewright.GradientBoostingClassifier(**options).fit(orchard.X, orchard.y)
    plots.plot_loss(model, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == model.train_score_.tolist()
    assert ax.lines[1].get_ydata().tolist() == model.validation_loss_.tolist()


def test_importances_are_sorted_with_the_spread_over_trees(ax: Any, forest: Any) -> None:
    plots.plot_importances(forest, ax=ax)
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(forest.feature_importances_)
    by_tree = np.array([member.feature_importances_ for member in forest.estimators_])
    spans = sorted(np.ptp(segment[:, 0]) / 2 for segment in ax.collections[0].get_segments())
    assert spans == pytest.approx(sorted(by_tree.std(axis=0)))


def test_partial_dependence_equals_that_of_scikit_learn(ax: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = treewright.CARTRegressor(ccp_alpha=0.0, min_samples_leaf=20).fit(X, y)
    plots.plot_partial_dependence(model, X, 2, ice=4, n_points=9, ax=ax)
    found = partial_dependence(model, X, [2], method="brute", grid_resolution=9, percentiles=(0, 1))
    assert ax.lines[-1].get_xdata() == pytest.approx(found["grid_values"][0])
    assert ax.lines[-1].get_ydata() == pytest.approx(found["average"][0])
    assert len(ax.lines) == 5


def test_partial_dependence_takes_text_with_missing_values(ax: Any, orchard: Any, forest: Any) -> None:
    plots.plot_partial_dependence(forest, orchard.X, "variety", of_class="severe", ax=ax)
    replaced = {name: np.array(orchard.X[name]) for name in orchard.X.columns}
    replaced["variety"] = np.full(len(orchard.y), "Elstar", dtype=object)
    mean = forest.predict_proba(replaced)[:, list(forest.classes_).index("severe")].mean()
    at = [label.get_text() for label in ax.get_xticklabels()].index("Elstar")
    assert ax.lines[-1].get_ydata()[at] == pytest.approx(mean)


def test_the_confusion_matrix_is_that_of_scikit_learn(ax: Any, orchard: Any, tree: Any) -> None:
    plots.plot_confusion(tree, orchard.X, orchard.y, ax=ax)
    counts = confusion_matrix(np.asarray(orchard.y), tree.predict(orchard.X))
    assert [int(text.get_text()) for text in ax.texts] == counts.ravel().tolist()


def test_the_curves_of_several_classes_name_their_areas(ax: Any, orchard: Any, tree: Any) -> None:
    plots.plot_roc(tree, orchard.X, orchard.y, ax=ax)
    shares = tree.predict_proba(orchard.X)
    areas = [roc_auc_score(np.asarray(orchard.y) == name, shares[:, k]) for k, name in enumerate(tree.classes_)]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"{name} (AUC = {area:.2f})" for name, area in zip(tree.classes_, areas, strict=True)]


@pytest.mark.parametrize("draw", [plots.plot_precision_recall, plots.plot_calibration, plots.plot_diversity])
def test_other_plots_draw_into_the_axes_given(ax: Any, orchard: Any, forest: Any, draw: Any) -> None:
    assert draw(forest, orchard.X, orchard.y, ax=ax) is ax
    assert ax.lines


def test_residuals_are_the_true_less_the_predicted_numbers(ax: Any) -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = treewright.CARTRegressor().fit(X, y)
    plots.plot_residuals(model, X, y, ax=ax)
    drawn = ax.collections[0].get_offsets()
    assert np.asarray(drawn)[:, 1] == pytest.approx((y - model.predict(X)).to_numpy())


def test_the_learning_curve_has_a_line_for_training_and_one_for_test(ax: Any) -> None:
    iris = treewright.datasets.load_iris()
    plots.plot_learning_curve(treewright.CARTClassifier(), iris.X, iris.y, cv=3, n_points=3, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Train", "Test"]


def test_wrong_input_is_one_sentence(orchard: Any, tree: Any) -> None:
    with pytest.raises(ValueError, match="there is no column 'colour'; there are 'variety'"):
        plots.plot_partial_dependence(tree, orchard.X, "colour")
    with pytest.raises(ValueError, match="of_class is 'mauve'; the classes are"):
        plots.plot_partial_dependence(tree, orchard.X, "soil", of_class="mauve")
    with pytest.raises(TypeError, match="need a fitted forest or bagging, not a CARTClassifier"):
        plots.plot_oob_error(tree, orchard.X, orchard.y)
    with pytest.raises(TypeError, match="needs a fitted gradient boosting model"):
        plots.plot_loss(tree)
    with pytest.raises(ValueError, match="a boundary needs two columns"):
        plots.plot_boundary(tree, {"soil": orchard.X["soil"]})
