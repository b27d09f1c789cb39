"""A program as a model of treelite, by its builder; rows are matrices of doubles, with categories as their indices."""

from __future__ import annotations

from typing import Any

from treewright.ship.exports.binary import BinaryTree, binary_trees
from treewright.ship.exports.program import Program
from treewright.ship.exports.tree_sum import EXP, LOGISTIC, SOFTMAX

POSTPROCESSORS = {LOGISTIC: "sigmoid", SOFTMAX: "softmax", EXP: "exponential"}


def to_treelite(program: Program) -> bytes:
    """The bytes of a serialized model of treelite."""
    treelite = _import_treelite()
    trees = binary_trees(program, "treelite")
    builder = _open(treelite.model_builder, program, len(trees))
    for tree in trees:
        _add_tree(builder, program, tree)
    return bytes(builder.commit().serialize_bytes())


def _import_treelite() -> Any:
    try:
        import treelite
    except ImportError:
        raise ImportError("to='treelite' needs the package treelite; install treewright[treelite]") from None
    return treelite


def _open(parts: Any, program: Program, n_trees: int) -> Any:
    """A builder without trees. A score or share of two classes is that of the second."""
    n_outputs = program.n_sums
    task = "kMultiClf" if n_outputs > 1 else "kRegressor" if program.classes is None else "kBinaryClf"
    has_vectors = program.n_values > 1
    metadata = parts.Metadata(
        num_feature=len(program.columns),
        task_type=task,
        average_tree_output=program.divisor != 1.0,
        num_target=1,
        num_class=[n_outputs],
        leaf_vector_shape=(1, n_outputs if has_vectors else 1),
    )
    outputs = [-1] * n_trees if has_vectors else program.outputs
    scale = program.scale if program.link == LOGISTIC else 1.0
    return parts.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=metadata,
        tree_annotation=parts.TreeAnnotation(num_tree=n_trees, target_id=[0] * n_trees, class_id=outputs),
        postprocessor=parts.PostProcessorFunc(POSTPROCESSORS.get(program.link, "identity"), sigmoid_alpha=scale),
        base_scores=program.constant,
    )


def _add_tree(builder: Any, program: Program, tree: BinaryTree) -> None:
    """Add a tree: nodes have even keys, leaves odd ones."""
    builder.start_tree()
    if tree.column:
        for place in range(len(tree.column)):
            _add_test(builder, tree, place)
    for number, node in enumerate(tree.leaves):
        start = program.value[node]
        values = program.values[start : start + program.n_values]
        builder.start_node(2 * number + 1 if tree.column else 0)
        builder.leaf(values if program.n_values > 1 else values[0])
        builder.end_node()
    builder.end_tree()


def _add_test(builder: Any, tree: BinaryTree, place: int) -> None:
    left, right = (2 * number + int(is_leaf) for number, is_leaf in (tree.passing[place], tree.failing[place]))
    sides = {"default_left": tree.missing_passes[place], "left_child_key": left, "right_child_key": right}
    codes = tree.codes[place]
    builder.start_node(2 * place)
    if codes is None:
        builder.numerical_test(tree.column[place], tree.threshold[place], opname="<=", **sides)
    else:
        builder.categorical_test(tree.column[place], category_list=codes, category_list_right_child=False, **sides)
    builder.end_node()
