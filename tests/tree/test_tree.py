"""The Tree value: what it refuses, how it is walked, and what its nodes say."""

from __future__ import annotations

import copy
import json
import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

from treewright import C45Classifier, ID3Classifier
from treewright.table.column import Column, Kind, Unit
from treewright.tree import SplitKind, Target, Test, Tree
from treewright.tree.descent import descend_rows, predictions_of

Plant = Callable[..., Tree]

COLOR = Column("color", Kind.CATEGORICAL, ("red", "green", "blue"))
SIZE = Column("size", Kind.ORDERED, ("small", "medium", "large"))
WIDTH = Column("width", Kind.NUMERIC)
COLUMNS = (COLOR, SIZE, WIDTH)
EDIBLE = Target("edible", ("no", "yes"))


@pytest.fixture
def mixed_tree(plant: Plant) -> Tree:
    """A subset split over an ordered one, a threshold and a multiway split with an empty branch."""
    ordered = ("size", 0, [[2, 0], [1, 4]], 1)
    numeric = ("width", 2.5, [[0, 3], ("color", None, [[5, 0], [0, 0], [0, 1]])])
    return plant(COLUMNS, EDIBLE, ("color", {"red", "blue"}, [ordered, numeric], 1))


def changed(tree: Tree, name: str, entries: dict[int, Any]) -> np.ndarray:
    array = np.array(getattr(tree, name))
    for index, value in entries.items():
        array[index] = value
    return array


# Nodes of mixed_tree: 0 color, 1 size, 2 width, 3 and 4 leaves, 5 leaf, 6 color, 7 to 9 leaves.
BROKEN = [
    ("kind", {0: 7}, "split kinds are 0 to 3"),
    ("n_children", {3: 2}, "a leaf must have no children"),
    ("n_children", {1: 1}, "every other node at least two"),
    ("column", {0: 3}, "a column that the tree does not have"),
    ("column", {0: -1}, "a column that the tree does not have"),
    ("first_child", {1: 2}, "exactly one parent"),
    ("first_child", {6: 8}, "exactly one parent"),
    ("first_child", {0: -1}, "exactly one parent"),
    ("missing_branch", {0: 2}, "follow one of the branches"),
    ("missing_branch", {0: -2}, "follow one of the branches"),
    ("missing_branch", {0: -1}, "shares of a node's branches must add up"),
    ("column", {6: 2}, "without categories"),
    ("column", {0: 2}, "without categories"),
    ("set_start", {0: -1}, "extends beyond 'category_sets'"),
    ("set_start", {0: 1}, "extends beyond 'category_sets'"),
    ("kind", {6: SplitKind.SUBSET}, "extends beyond 'category_sets'"),
    ("threshold", {2: np.nan}, "not NaN"),
    ("column", {2: 0}, "column 'color' has no order"),
    ("threshold", {1: 3}, "ordered column 'size'"),
    ("threshold", {1: -1}, "ordered column 'size'"),
]


@pytest.mark.parametrize(("name", "entries", "sentence"), BROKEN)
def test_arrays_that_form_no_tree_are_refused(
    name: str, entries: dict[int, Any], sentence: str, mixed_tree: Tree
) -> None:
    with pytest.raises(ValueError, match=sentence):
        mixed_tree.replace(**{name: changed(mixed_tree, name, entries)})


def test_a_negative_split_kind_is_refused(mixed_tree: Tree) -> None:
    with pytest.raises(ValueError, match="split kinds are 0 to 3, not -1"):
        mixed_tree.replace(kind=np.where(mixed_tree.kind == 1, -1, mixed_tree.kind.astype(np.int8)))


def test_children_before_their_parent_are_refused(plant: Plant) -> None:
    # Two splits that claim each other as children: every node has one parent, but no way leads from the root.
    two_levels = plant(COLUMNS, EDIBLE, ("width", 1, [("width", 0, [[1, 0], [0, 1]]), ("width", 2, [[1, 0], [0, 1]])]))
    loop = changed(two_levels, "first_child", {0: 5, 1: 1, 2: 3})
    with pytest.raises(ValueError, match="children must be after their parent"):
        two_levels.replace(first_child=loop)


def test_a_multiway_split_needs_a_child_per_category(plant: Plant) -> None:
    with pytest.raises(ValueError, match="one child per category"):
        plant(COLUMNS, EDIBLE, ("color", None, [[1, 0], [0, 1]]))


@pytest.mark.parametrize("by", [1.5, {"red"}])
def test_a_binary_split_needs_two_children(by: Any, plant: Plant) -> None:
    column = "width" if isinstance(by, float) else "color"
    with pytest.raises(ValueError, match="needs two children"):
        plant(COLUMNS, EDIBLE, (column, by, [[1, 0], [0, 1], [1, 1]]))


def test_a_tree_without_nodes_is_refused(mixed_tree: Tree) -> None:
    with pytest.raises(ValueError, match="at least one node"):
        mixed_tree.replace(kind=mixed_tree.kind[:0])


@pytest.mark.parametrize("name", ["weight", "rows", "gain", "threshold", "distribution"])
def test_an_array_of_another_length_is_refused_by_name(name: str, mixed_tree: Tree) -> None:
    with pytest.raises(ValueError, match=f"'{name}' has 9 entries for 10 nodes"):
        mixed_tree.replace(**{name: getattr(mixed_tree, name)[:-1]})


def test_a_list_in_place_of_an_array_is_refused(mixed_tree: Tree) -> None:
    with pytest.raises(TypeError, match="'weight' must be a numpy array"):
        mixed_tree.replace(weight=list(mixed_tree.weight))


def test_a_distribution_of_another_width_is_refused(mixed_tree: Tree) -> None:
    with pytest.raises(ValueError, match="'distribution' must be 10 x 3"):
        mixed_tree.replace(target=Target("edible", ("no", "yes", "perhaps")))


def test_nodes_come_in_reading_order(mixed_tree: Tree) -> None:
    assert [node.index for node in mixed_tree] == [0, 1, 3, 4, 2, 5, 6, 7, 8, 9]
    assert len(mixed_tree) == mixed_tree.n_nodes == 10


def test_sizes_depths_and_parents_follow_from_the_children(mixed_tree: Tree) -> None:
    assert (mixed_tree.n_leaves, mixed_tree.depth) == (6, 3)
    assert mixed_tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2, 6, 6, 6]
    assert mixed_tree.depth_of.tolist() == [0, 1, 1, 2, 2, 2, 2, 3, 3, 3]
    assert [child.index for child in mixed_tree.node(6).children] == [7, 8, 9]


def test_unsigned_indices_make_the_same_tree(mixed_tree: Tree) -> None:
    leaf = mixed_tree.kind == SplitKind.LEAF
    unsigned = mixed_tree.replace(
        first_child=np.where(leaf, 0, mixed_tree.first_child).astype(np.uint64),
        n_children=mixed_tree.n_children.astype(np.uint32),
    )
    assert unsigned.parent.tolist() == mixed_tree.parent.tolist()
    assert [node.index for node in unsigned] == [node.index for node in mixed_tree]


def test_a_node_that_does_not_exist_is_named(mixed_tree: Tree) -> None:
    for index in (-1, 10):
        with pytest.raises(IndexError, match=f"node {index} does not exist; the tree has nodes 0 to 9"):
            mixed_tree.node(index)


def test_every_branch_says_its_condition_in_the_users_words(mixed_tree: Tree) -> None:
    said = {node.index: [str(test) for test in node.tests] for node in mixed_tree}
    assert said[0] == ["color in {red, blue}", "color not in {red, blue}"]
    assert said[1] == ["size <= small", "size > small"]
    assert said[2] == ["width <= 2.5", "width > 2.5"]
    assert said[6] == ["color = red", "color = green", "color = blue"]
    assert said[3] == []


def test_a_set_of_one_category_is_an_equality(plant: Plant) -> None:
    tree = plant(COLUMNS, EDIBLE, ("color", {"green"}, [[1, 0], [0, 1]]))
    assert [str(test) for test in tree.root.tests] == ["color = green", "color != green"]


def test_a_threshold_on_a_date_is_said_as_a_date(plant: Plant) -> None:
    born = Column("born", Kind.NUMERIC, unit=Unit.DATE)
    tree = plant([born], EDIBLE, ("born", 10957, [[1, 0], [0, 1]]))
    assert [str(test) for test in tree.root.tests] == ["born <= 2000-01-01", "born > 2000-01-01"]


def test_category_sets_reach_beyond_one_word(plant: Plant) -> None:
    many = Column("code", Kind.CATEGORICAL, tuple(f"c{index}" for index in range(200)))
    chosen = {f"c{index}" for index in range(0, 200, 7)}
    first = ("code", {"c63", "c64"}, [[1, 0], [0, 1]])
    tree = plant([many], EDIBLE, ("code", chosen, [first, [1, 1]]))
    assert tree.category_set(0) == tuple(range(0, 200, 7))
    assert tree.category_set(1) == (63, 64)


def test_a_long_set_is_shortened_with_a_count() -> None:
    many = Column("code", Kind.CATEGORICAL, tuple(range(100)))
    assert Test(many, "in", tuple(range(40))).write_operand(3) == "{0, 1, 2, ... 37 more}"
    assert Test(many, "in", (4, 5)).write_operand(3) == "{4, 5}"
    assert str(Test(many, "in", tuple(range(9)))) == "code in {0, 1, 2, 3, 4, 5, 6, 7, 8}"


def test_an_empty_branch_answers_like_its_parent(mixed_tree: Tree) -> None:
    empty, parent = mixed_tree.node(8), mixed_tree.node(6)
    assert empty.rows == 0
    assert empty.value.tolist() == parent.value.tolist() == [5 / 6, 1 / 6]
    assert empty.prediction == "no"
    assert str(empty) == "no (0.0)"


def test_an_empty_branch_below_an_empty_branch_answers_like_the_last_that_has_rows(plant: Plant) -> None:
    below = ("size", 1, [[0, 0], [0, 0]])
    tree = plant(COLUMNS, EDIBLE, ("color", None, [[0, 3], below, [1, 0]]))
    assert [node.prediction for node in tree] == ["yes", "yes", "yes", "yes", "yes", "no"]
    assert np.isfinite(tree.predictions).all()


def test_an_empty_branch_of_a_regression_tree_answers_its_parents_mean(plant: Plant) -> None:
    tree = plant(COLUMNS, Target("price"), ("color", None, [[2, 1.0], [0, 0.0], [2, 4.0]]))
    assert [node.prediction for node in tree] == [2.5, 1.0, 2.5, 4.0]


def test_rows_without_weight_answer_like_their_parent(plant: Plant) -> None:
    tree = plant(COLUMNS, EDIBLE, ("width", 1, [[0, 0], [1, 3]]))
    weightless = tree.replace(rows=np.array([6, 2, 4]))
    assert weightless.node(1).value.tolist() == [0.25, 0.75]
    assert weightless.node(1).prediction == "yes"


def test_of_classes_with_equal_weight_the_first_is_the_answer(plant: Plant) -> None:
    tree = plant(COLUMNS, EDIBLE, [3, 3])
    assert tree.root.prediction == "no"
    assert tree.root.errors == 3.0
    assert str(tree.root) == "no (6.0/3.0)"


def test_a_leaf_is_written_as_weka_does(plant: Plant) -> None:
    leaves = {(4, 0): "no (4.0)", (1, 4): "yes (5.0/1.0)", (0.25, 2.5): "yes (2.75/0.25)"}
    for counts, text in leaves.items():
        assert str(plant(COLUMNS, EDIBLE, list(counts)).root) == text
    assert str(plant(COLUMNS, Target("price"), [3, 0.85]).root) == "0.85 (3.0)"


def test_errors_of_badly_scaled_weights_are_not_rounding_noise(plant: Plant) -> None:
    assert plant(COLUMNS, EDIBLE, [1e16, 0.5]).root.errors == 0.5
    assert plant(COLUMNS, EDIBLE, [0.1 + 0.2, 0.0]).root.errors == 0.0


def test_nodes_give_their_figures_as_plain_values(mixed_tree: Tree) -> None:
    root = mixed_tree.root
    assert (root.weight, root.rows, root.depth, root.gain) == (16.0, 16, 0, 0.5)
    assert root.distribution.tolist() == [8.0, 8.0]
    assert (root.column, root.missing_branch, root.is_leaf) == (COLOR, 1, False)
    assert str(root) == "color"
    assert mixed_tree.node(3).column is None


def test_the_dictionary_of_a_tree_survives_json(mixed_tree: Tree) -> None:
    described = mixed_tree.to_dict()
    assert json.loads(json.dumps(described)) == described
    assert described["column"] == "color"
    assert described["distribution"] == {"no": 8.0, "yes": 8.0}
    first, second = described["branches"]
    assert (first["test"], first["missing_goes_here"]) == ("color in {red, blue}", False)
    assert (second["test"], second["missing_goes_here"]) == ("color not in {red, blue}", True)
    assert "branches" not in first["branches"][0]
    assert [branch["prediction"] for branch in second["branches"][1]["branches"]] == ["no", "no", "yes"]


@pytest.mark.parametrize(
    "classes", [(np.int64(0), np.int64(1)), (np.False_, np.True_), (np.str_("a"), np.str_("b")), (b"a", b"b")]
)
def test_classes_of_any_type_survive_json(classes: tuple[Any, ...], plant: Plant) -> None:
    tree = plant(COLUMNS, Target("y", classes), ("width", 1, [[1, 0], [0, 1]]))
    assert json.loads(json.dumps(tree.to_dict())) == tree.to_dict()


def test_a_very_deep_tree_is_walked_and_described(plant: Plant) -> None:
    description: Any = [1, 0]
    for level in range(2000):
        description = ("width", level, [description, [0, 1]])
    tree = plant(COLUMNS, EDIBLE, description)
    assert tree.depth == 2000
    assert sum(1 for _ in tree) == tree.n_nodes == 4001
    described = tree.to_dict()
    for _ in range(2000):
        described = described["branches"][0]
    assert described["prediction"] == "no"


def test_nothing_of_a_tree_can_be_changed(mixed_tree: Tree) -> None:
    with pytest.raises(FrozenInstanceError):
        mixed_tree.kind = mixed_tree.kind  # type: ignore[misc]
    derived = ("parent", "depth_of", "value")
    arrays = [f.name for f in fields(mixed_tree) if isinstance(getattr(mixed_tree, f.name), np.ndarray)]
    for name in arrays + list(derived):
        with pytest.raises(ValueError, match="read-only"):
            getattr(mixed_tree, name)[0] = 1


def test_a_tree_does_not_change_with_the_array_it_was_cut_from(mixed_tree: Tree) -> None:
    longer = np.append(mixed_tree.weight, 99.0)
    tree = mixed_tree.replace(weight=longer[:-1])
    longer[0] = -1.0
    assert tree.weight.tolist() == mixed_tree.weight.tolist()


def test_replacing_gives_a_new_tree_and_leaves_the_old_one(mixed_tree: Tree) -> None:
    lighter = mixed_tree.replace(weight=mixed_tree.weight / 2)
    assert (lighter.root.weight, mixed_tree.root.weight) == (8.0, 16.0)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda tree: pickle.loads(pickle.dumps(tree))])
def test_a_copied_tree_is_the_same_and_as_immutable(copied: Any, mixed_tree: Tree) -> None:
    twin = copied(mixed_tree)
    assert twin.to_dict() == mixed_tree.to_dict()
    with pytest.raises(ValueError, match="read-only"):
        twin.weight[0] = 1.0


def test_a_tree_names_itself_briefly(mixed_tree: Tree) -> None:
    assert repr(mixed_tree) == "Tree(target='edible', n_leaves=6, depth=3)"


def test_the_memory_of_a_prediction_is_bounded_by_its_output():
    # Each new row reaches all 700 leaves, and each leaf has 700 classes: 3.9 GB if all were listed.
    X, y = {"id": [f"r{i // 2}" for i in range(1400)]}, [f"k{i // 2}" for i in range(1400)]
    model = C45Classifier().fit(X, y)
    tracemalloc.start()
    try:
        shares = model.predict_proba({"id": ["new"] * 1000})
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(shares, 1.0 / 700)
    assert most < 10 * shares.nbytes


@pytest.mark.parametrize("learner", [C45Classifier, ID3Classifier])
def test_a_row_that_reaches_several_leaves_gets_their_weighted_mean(learner):
    random = np.random.default_rng(0)
    X = {name: random.choice(["a", "b", "c"], 60).tolist() for name in ("first", "second", "third")}
    y = [f"{one}{two}" for one, two in zip(X["first"], X["second"], strict=True)]
    tree = learner().fit(X, y).tree_
    values = np.full((1, 3), np.nan)
    reached = descend_rows(tree, values)
    expected = sum(
        fraction * tree.predictions[node] for node, fraction in zip(reached.nodes, reached.fractions, strict=True)
    )
    np.testing.assert_allclose(predictions_of(tree, values)[0], expected, rtol=1e-14)
