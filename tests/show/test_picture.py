"""Pictures of trees: well-formed, complete, safe with any name, and the same path as the descent of rows."""

from __future__ import annotations

import builtins
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr

import treewright
from treewright import plot_tree
from treewright.show.picture.boxes import draw_boxes
from treewright.show.picture.rows import path_fractions
from treewright.show.picture.scene import Box
from treewright.table.column import Column, Kind
from treewright.tree import Target, Tree

SVG = "{http://www.w3.org/2000/svg}"
EDIBLE = Target("edible", ("no", "yes"))


def texts_of(svg: str) -> list[str]:
    """The visible words of a picture, without titles."""
    root = ET.fromstring(svg)
    return [
        "".join([element.text or "", *(child.tail or "" for child in element)]) for element in root.iter(SVG + "text")
    ]


def titles_of(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(SVG + "title")]


@pytest.fixture(scope="module")
def iris() -> Any:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, treewright.CARTClassifier().fit(X, y)


def test_the_weather_tree_shows_its_columns_branches_and_predictions(weather_tree: Tree) -> None:
    words = texts_of(plot_tree(weather_tree).svg)
    for wanted in ("outlook", "humidity", "wind", "= sunny", "= overcast", "= rainy", "= high", "= weak"):
        assert wanted in words
    assert words.count("yes") - 1 == 3  # one is in the legend
    assert words.count("no") - 1 == 2
    assert "14 rows" in words


def test_boxes_of_nodes_do_not_overlap_in_the_picture(iris: Any) -> None:
    X, y, model = iris
    boxes = [
        shape for shape in draw_boxes(plot_tree(model, X=X, y=y)._view).shapes if isinstance(shape, Box) and shape.title
    ]
    assert len(boxes) == model.tree_.n_nodes
    for place, one in enumerate(boxes):
        for other in boxes[:place]:
            wide = min(one.left + one.width, other.left + other.width) - max(one.left, other.left)
            high = min(one.top + one.height, other.top + other.height) - max(one.top, other.top)
            assert min(wide, high) <= 1e-6


def test_the_bar_of_a_node_has_its_class_shares(plant: Callable[..., Tree]) -> None:
    tree = plant([Column("width", Kind.NUMERIC)], EDIBLE, ("width", 1, [[3, 1], [0, 4]]))
    shapes = [shape for shape in plot_tree(tree).scene.shapes if isinstance(shape, Box) and shape.height == 8.0]
    tracks = [place for place, shape in enumerate(shapes) if shape.fill == "#e3e8ed"]
    shares = [
        [bar.width / shapes[at].width for bar in shapes[at + 1 : end]]
        for at, end in zip(tracks, [*tracks[1:], None], strict=True)
    ]
    assert [np.round(line, 6).tolist() for line in shares] == [[0.375, 0.625], [0.75, 0.25], [1.0]]


def test_the_path_of_a_row_is_that_of_the_decision_path(iris: Any) -> None:
    X, _, model = iris
    by_scikit_learn = model.decision_path(X).toarray()
    for row in (0, 70, 140):
        assert (path_fractions(model.tree_, X.to_numpy()[row : row + 1]) > 0).tolist() == by_scikit_learn[row].astype(
            bool
        ).tolist()
        marked = {node.index for node in plot_tree(model, X=X, row=row)._view.nodes if node.path > 0}
        assert marked == set(np.flatnonzero(by_scikit_learn[row]).tolist())


def test_a_row_may_be_given_as_a_dict_and_is_divided_if_a_value_is_missing() -> None:
    weather = treewright.datasets.load_weather()
    model = treewright.C45Classifier(prune=None).fit(weather.X, weather.y)
    picture = plot_tree(model, row={"outlook": None, "temperature": "hot", "humidity": "high", "wind": "weak"})
    fractions = [node.path for node in picture._view.nodes if node.parent == 0]
    assert fractions == pytest.approx([5 / 14, 4 / 14, 5 / 14])
    assert "= sunny (36%)" in texts_of(picture.svg)


def test_a_histogram_has_every_row_of_its_node_and_the_classes(iris: Any) -> None:
    X, y, model = iris
    found = plot_tree(model, X=X, y=y).histograms
    for node, histogram in found.items():
        assert histogram.counts.sum(axis=0).tolist() == model.tree_.distribution[node].tolist()
    assert set(found) == set(np.flatnonzero(model.tree_.n_children))


def test_numbers_show_their_means() -> None:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = treewright.DecisionTreeRegressor(max_depth=1).fit(X, y)
    column, cut = model.tree_.root.column.name, model.tree_.threshold[0]
    means = [f"{y[X[column] <= cut].mean():.4g}", f"{y[X[column] > cut].mean():.4g}", f"mean {y.mean():.4g}"]
    words = texts_of(model.plot(X=X, y=y).svg)
    assert [mean for mean in means if mean not in words] == []


def test_above_200_leaves_the_form_is_an_icicle() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 4)), rng.integers(0, 3, 3000)
    model = treewright.DecisionTreeClassifier().fit(X, y)
    assert model.tree_.n_leaves > 200
    picture = model.plot()
    assert picture.form == "icicle"
    ET.fromstring(picture.svg)
    assert model.plot(max_depth=3).form == "tree"


def test_every_level_of_an_icicle_is_as_wide_as_the_weight_of_its_nodes(iris: Any) -> None:
    _, _, model = iris
    boxes = [shape for shape in plot_tree(model, form="icicle").scene.shapes if isinstance(shape, Box) and shape.title]
    by_level: dict[float, float] = {}
    for box in boxes:
        by_level[box.top] = by_level.get(box.top, 0.0) + box.width
    tree = model.tree_
    weights = np.bincount(tree.depth_of, tree.weight)
    assert list(by_level.values()) == pytest.approx((weights / tree.weight[0] * 1200.0).tolist())


@pytest.mark.slow
def test_a_tree_3000_deep_is_drawn(plant: Callable[..., Tree]) -> None:
    description: Any = [1, 0]
    for level in range(3000):
        description = ("width", level, [description, [0, 1]])
    tree = plant([Column("width", Kind.NUMERIC)], EDIBLE, description)
    for picture in (plot_tree(tree), plot_tree(tree, form="tree")):
        ET.fromstring(picture.svg)
    assert plot_tree(tree, form="dot").dot.count("->") == 6000
    assert plot_tree(tree).html.startswith("<!DOCTYPE html>")


HOSTILE = [
    '<script>alert("x")</script>',
    "a & b]]>",
    "שלום עולם",
    "x" * 1000,
    "nul\x00\x1b",
    "\ud800",
    'quote"\\',
    "]|`#;",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_of_column_category_and_class_gives_a_well_formed_picture(
    plant: Callable[..., Tree], name: str
) -> None:
    column = Column(name, Kind.CATEGORICAL, (name, "b"))
    tree = plant([column], Target(name, (name, "yes")), (name, None, [[3, 1], [0, 4]]))
    picture = plot_tree(tree)
    picture.svg.encode("utf-8")
    root = ET.fromstring(picture.svg)
    assert {element.tag for element in root.iter()} <= {
        SVG + tag for tag in ("svg", "title", "desc", "rect", "text", "path")
    }
    assert max(map(len, texts_of(picture.svg))) <= 40
    page = picture.html.encode("utf-8").decode()
    assert page.count("<script") == 2
    for text in (picture.dot, picture.mermaid):
        assert len(text.splitlines()) == len(
            plot_tree(plain_twin(plant), form="dot").dot.splitlines()
            if "digraph" in text
            else plot_tree(plain_twin(plant)).mermaid.splitlines()
        )


def plain_twin(plant: Callable[..., Tree]) -> Tree:
    return plant([Column("a", Kind.CATEGORICAL, ("a", "b"))], Target("t", ("a", "yes")), ("a", None, [[3, 1], [0, 4]]))


def test_a_long_name_is_shortened_with_its_whole_text_as_title(plant: Callable[..., Tree]) -> None:
    name = "a long name " * 80
    tree = plant([Column(name, Kind.NUMERIC)], EDIBLE, (name, 1, [[3, 1], [0, 4]]))
    svg = plot_tree(tree).svg
    assert any(name.strip() in title for title in titles_of(svg))
    assert all(len(words) < 40 for words in texts_of(svg))


def test_ten_thousand_classes_are_drawn(plant: Callable[..., Tree]) -> None:
    classes = tuple(f"c{k}" for k in range(10_000))
    heavy, light = [1.0] * 10_000, [0.0] * 9_999 + [5.0]
    tree = plant([Column("width", Kind.NUMERIC)], Target("y", classes), ("width", 1, [heavy, light]))
    picture = plot_tree(tree)
    assert "9993 other classes" in texts_of(picture.svg)
    assert len(picture.html) < 300_000


def test_one_leaf_is_a_picture() -> None:
    model = treewright.DecisionTreeClassifier().fit([[1.0], [2.0]], ["a", "a"])
    assert "2 rows" in texts_of(model.plot().svg)
    assert model.plot(form="icicle").svg.startswith("<svg")


def test_several_targets_show_each_prediction() -> None:
    X, y = load_iris(return_X_y=True)
    model = treewright.DecisionTreeRegressor(max_depth=1).fit(X, np.column_stack([y, X[:, 0]]))
    words = " ".join(texts_of(model.plot().svg))
    means = [f"{X[X[:, model.tree_.column[0]] <= model.tree_.threshold[0], 0].mean():.4g}"]
    assert all(mean in words for mean in means)
    assert model.plot().html


def test_a_tree_of_an_ensemble_is_picked(iris: Any) -> None:
    X, y, _ = iris
    forest = treewright.RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    assert plot_tree(forest, tree=2).tree.n_leaves == forest.estimators_[2].tree_.n_leaves
    boosting = treewright.GradientBoostingClassifier(n_estimators=2).fit(X, y)
    assert plot_tree(boosting, tree=1, X=X, row=3).path.max() == 1.0
    assert "150 rows" in texts_of(plot_tree(boosting, tree=1).svg)
    columns = treewright.BaggingClassifier(n_estimators=2, max_features=2, random_state=0)
    columns.fit(X.to_numpy(), y.to_numpy())
    leaves = columns.estimators_[1].apply(X.to_numpy()[:, columns.estimators_features_[1]])
    assert plot_tree(columns, tree=1, X=X.to_numpy(), row=3).path[leaves[3]] == 1.0
    with pytest.raises(ValueError, match="tree is 3, and this RandomForestClassifier has the trees 0 to 2"):
        plot_tree(forest, tree=3)


def test_dot_and_mermaid_have_every_node_and_branch(weather_tree: Tree) -> None:
    dot, mermaid = str(plot_tree(weather_tree, form="dot")), str(plot_tree(weather_tree, form="mermaid"))
    assert len(re.findall(r"^  n\d+ \[", dot, flags=re.MULTILINE)) == weather_tree.n_nodes
    assert dot.count("->") == mermaid.count("-->") == weather_tree.n_nodes - 1
    assert '[label="= sunny"' in dot


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"form": "pie"}, "form is 'pie'; give one of 'auto'"),
        ({"max_depth": -1}, "max_depth is -1"),
        ({"tree": 1.5}, "tree is 1.5"),
        ({"row": 3}, "give the table as X"),
        ({"row": 999, "X": [[0.0] * 4]}, "row is 999, and the table has the rows 0 to 0"),
        ({"X": [[0.0] * 4], "y": [0, 1]}, "X has 1 rows, but y has 2 values"),
        ({"X": [[0.0] * 4], "y": ["z"]}, "y has the class 'z'"),
    ],
)
def test_a_wrong_argument_is_one_sentence(iris: Any, given: dict[str, Any], message: str) -> None:
    X, y, _ = iris
    model = treewright.CARTClassifier().fit(X.to_numpy(), y.to_numpy())
    with pytest.raises(ValueError, match=message):
        plot_tree(model, **given)


def test_a_model_without_a_tree_is_one_sentence() -> None:
    with pytest.raises(NotFittedError, match="call its fit method first"):
        treewright.CARTClassifier().plot()
    with pytest.raises(TypeError, match="a value of type int"):
        plot_tree(3)


def test_save_chooses_the_form_by_suffix(iris: Any, tmp_path: Path) -> None:
    picture = plot_tree(iris[2])
    beginnings = {
        "svg": b"<svg",
        "html": b"<!DOCTYPE",
        "dot": b"digraph",
        "mmd": b"flowchart",
        "png": b"\x89PNG",
        "pdf": b"%PDF",
    }
    for suffix, beginning in beginnings.items():
        assert picture.save(tmp_path / f"tree.{suffix}").read_bytes().startswith(beginning)
    with pytest.raises(ValueError, match=r"'tree\.gif' has no suffix of a picture"):
        picture.save(tmp_path / "tree.gif")


def test_matplotlib_draws_every_word_of_the_svg(iris: Any) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, ax = plt.subplots(figsize=(12, 16))
    picture = plot_tree(iris[2], ax=ax)
    assert [text.get_text() for text in ax.texts] == texts_of(picture.svg)
    figure.canvas.draw()
    plt.close(figure)


def test_without_matplotlib_the_error_is_one_sentence(iris: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def absent(name: str, *rest: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return imported(name, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"needs matplotlib; install it with: .*treewright\[plot\]"):
        plot_tree(iris[2]).draw()


@pytest.mark.slow
def test_a_picture_in_svg_does_not_import_matplotlib() -> None:
    code = (
        "import sys, treewright; m = treewright.CARTClassifier().fit([[1], [2]] * 9, [0, 1] * 9); "
        "m.plot().svg; m.plot().html; assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_notebook_shows_the_tree_and_the_diagram_stays_available(iris: Any) -> None:
    model = iris[2]
    assert "<svg" in model._repr_html_()
    assert model._repr_mimebundle_()["text/html"] == model._repr_html_()
    assert "sk-top-container" in estimator_html_repr(model)
    assert "sk-top-container" in treewright.CARTClassifier()._repr_html_()


def test_show_returns_the_picture_of_a_form(iris: Any) -> None:
    page = treewright.show(iris[2], "html")
    assert str(page).startswith("<!DOCTYPE html>")
    assert page._repr_html_().startswith("<iframe srcdoc=")
