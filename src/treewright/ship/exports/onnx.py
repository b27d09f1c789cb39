"""A program as an ONNX model: one TreeEnsemble of ai.onnx.ml 5, with an input for each column.

Numbers are double tensors, categories of text are string tensors, each of shape [rows, 1]. NaN and the empty text are
missing. Categories become codes by a LabelEncoder, and nodes test whether a code is in a set (BRANCH_MEMBER).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.ship.exports.binary import BinaryTree, binary_trees
from treewright.ship.exports.program import Program, check_classes, free_name
from treewright.ship.exports.tree_sum import COMPLEMENT, EXP, LOGISTIC, SOFTMAX, ExportError
from treewright.table.column import Column

ML, ML_VERSION, CORE_VERSION, IR_VERSION = "ai.onnx.ml", 5, 18, 10

# The modes of nodes in ai.onnx.ml 5.
BRANCH_LEQ, BRANCH_MEMBER = 0, 6

# Codes of categories begin here. Runtimes keep sets of smaller numbers in one word, and merge neighbouring nodes of
# such sets even if missing values follow different branches.
FIRST_CODE = 65

# The largest whole number up to which a double holds all whole numbers.
LARGEST_WHOLE = 1 << 53


def to_onnx(program: Program) -> bytes:
    """The program as the bytes of an ONNX file."""
    onnx = _import_onnx()
    graph = _Graph(onnx, program)
    parts = [graph.add_column(place, column) for place, column in enumerate(program.columns)]
    graph.add("Concat", parts, graph.name("table"), axis=1)
    _add_trees(graph, program)
    _add_predictions(graph, program)
    made = onnx.helper.make_graph(graph.nodes, "treewright", graph.inputs, graph.outputs, graph.constants)
    opsets = [onnx.helper.make_opsetid("", CORE_VERSION), onnx.helper.make_opsetid(ML, ML_VERSION)]
    model = onnx.helper.make_model(made, opset_imports=opsets, ir_version=IR_VERSION, producer_name="treewright")
    model.doc_string = f"Predictions of a {program.learner}."
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _import_onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise ImportError("to='onnx' needs the package onnx; install treewright[onnx]") from None
    return onnx


@dataclass(eq=False)
class _Graph:
    """The parts of an ONNX graph while they are added."""

    onnx: Any
    program: Program
    nodes: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)

    def name(self, wanted: str) -> str:
        """A name that no column has."""
        return free_name(wanted, [column.name for column in self.program.columns])

    def add(self, operator: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [output], **attributes))
        return output

    def constant(self, name: str, values: np.ndarray) -> str:
        name = self.name(name)
        self.constants.append(self.onnx.numpy_helper.from_array(values, name))
        return name

    def number(self, name: str, value: float) -> str:
        return self.constant(name, np.array(value, dtype=np.float64))

    def tensor(self, values: np.ndarray) -> Any:
        return self.onnx.numpy_helper.from_array(values, "values")

    def add_output(self, name: str, kind: int, width: int | None) -> None:
        shape = ["rows"] if width is None else ["rows", width]
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, kind, shape))

    def add_column(self, place: int, column: Column) -> str:
        """Add the input of a column, and for categories the operator that encodes them."""
        kinds = self.onnx.TensorProto
        is_text = bool(column.categories) and _are_text(column)
        kind = kinds.STRING if is_text else kinds.DOUBLE
        self.inputs.append(self.onnx.helper.make_tensor_value_info(column.name, kind, ["rows", 1]))
        if not column.categories:
            return column.name
        codes = FIRST_CODE + np.arange(len(column.categories) + 1.0)
        keys = (
            np.array([*column.categories, ""], dtype=object)
            if is_text
            else np.array([*column.categories, np.nan], dtype=np.float64)
        )
        return self.add(
            "LabelEncoder",
            [column.name],
            self.name(f"codes_{place}"),
            domain=ML,
            keys_tensor=self.tensor(keys),
            values_tensor=self.tensor(np.append(codes[:-1], np.nan)),
            default_tensor=self.tensor(codes[-1:]),
        )


def _are_text(column: Column) -> bool:
    """Whether the categories of a column are text rather than numbers; other values are an error."""
    if all(isinstance(one, str) for one in column.categories):
        if "" in column.categories:
            raise ExportError(
                f"column {column.name!r} has the empty text as a category, which means missing in the ONNX export; "
                "give it another name before the fit"
            )
        return True
    numbers = all(isinstance(one, bool | int | float) and abs(one) <= LARGEST_WHOLE for one in column.categories)
    if not numbers:
        raise ExportError(
            f"column {column.name!r} has categories that are neither all text nor all numbers, which ONNX cannot "
            "encode; convert them to text before the fit"
        )
    return False


@dataclass(eq=False)
class _Ensemble:
    """The arrays of a TreeEnsemble; a side is the number of a node, or of a leaf and 1."""

    feature: list[int] = field(default_factory=list)
    split: list[float] = field(default_factory=list)
    mode: list[int] = field(default_factory=list)
    missing_is_true: list[int] = field(default_factory=list)
    true: list[tuple[int, int]] = field(default_factory=list)
    false: list[tuple[int, int]] = field(default_factory=list)
    members: list[list[float]] = field(default_factory=list)
    leaf_target: list[int] = field(default_factory=list)
    leaf_weight: list[float] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)

    def add(self, tree: BinaryTree, weights: list[float], target: int) -> None:
        """Add a tree, given the weights of its leaves for one target."""
        first, first_leaf = len(self.mode), len(self.leaf_weight)
        self.roots.append(first)
        self.leaf_target += [target] * len(weights)
        self.leaf_weight += weights
        if not tree.column:
            # A root without a split is a node with the same leaf on both sides.
            tree = BinaryTree([0], [0.0], [None], [False], [(0, True)], [(0, True)])
        for place, codes in enumerate(tree.codes):
            self.feature.append(tree.column[place])
            self.mode.append(BRANCH_LEQ if codes is None else BRANCH_MEMBER)
            self.split.append(tree.threshold[place])
            self.members.append([] if codes is None else [float(FIRST_CODE + code) for code in codes])
            self.missing_is_true.append(int(tree.missing_passes[place]))
        for own, sides in ((self.true, tree.passing), (self.false, tree.failing)):
            own += [(number + (first_leaf if is_leaf else first), int(is_leaf)) for number, is_leaf in sides]


def _add_trees(graph: _Graph, program: Program) -> None:
    trees = _Ensemble()
    for tree, output in zip(binary_trees(program, "a TreeEnsemble of ONNX"), program.outputs, strict=True):
        for place in range(program.n_values):
            weights = [program.values[program.value[node] + place] for node in tree.leaves]
            trees.add(tree, weights, output + place)
    # The values of the sets one after the other, each set ended by NaN.
    members = [value for one in trees.members if one for value in [*one, np.nan]]
    graph.add(
        "TreeEnsemble",
        [graph.name("table")],
        graph.name("sums"),
        domain=ML,
        n_targets=program.n_sums,
        aggregate_function=1,
        post_transform=0,
        tree_roots=trees.roots,
        nodes_featureids=trees.feature,
        nodes_modes=graph.tensor(np.array(trees.mode, dtype=np.uint8)),
        nodes_splits=graph.tensor(np.array(trees.split, dtype=np.float64)),
        nodes_missing_value_tracks_true=trees.missing_is_true,
        nodes_truenodeids=[number for number, _ in trees.true],
        nodes_trueleafs=[is_leaf for _, is_leaf in trees.true],
        nodes_falsenodeids=[number for number, _ in trees.false],
        nodes_falseleafs=[is_leaf for _, is_leaf in trees.false],
        leaf_targetids=trees.leaf_target,
        leaf_weights=graph.tensor(np.array(trees.leaf_weight, dtype=np.float64)),
        **({"membership_values": graph.tensor(np.array(members, dtype=np.float64))} if members else {}),
    )


def _add_predictions(graph: _Graph, program: Program) -> None:
    """Add the operators from the sums of the trees to the outputs."""
    kinds = graph.onnx.TensorProto
    found = graph.add("Div", [graph.name("sums"), graph.number("divisor", program.divisor)], graph.name("means"))
    constant = graph.constant("constant", np.array([program.constant], dtype=np.float64))
    scores = graph.add("Add", [found, constant], graph.name("scores"))
    if program.classes is None:
        output = graph.name("prediction")
        graph.add("Exp" if program.link == EXP else "Identity", [scores], output)
        graph.add_output(output, kinds.DOUBLE, 1)
        return
    probabilities = _add_probabilities(graph, program, scores)
    graph.add("ArgMax", [probabilities], graph.name("place"), axis=1, keepdims=0)
    classes = check_classes(program.classes)
    kind = {"U": kinds.STRING, "i": kinds.INT64, "f": kinds.DOUBLE}[classes.dtype.kind]
    stored = classes.astype(object) if classes.dtype.kind == "U" else classes
    graph.add("Gather", [graph.constant("classes", stored), graph.name("place")], graph.name("label"), axis=0)
    graph.add_output(graph.name("label"), kind, None)
    graph.add_output(probabilities, kinds.DOUBLE, len(program.classes))


def _add_probabilities(graph: _Graph, program: Program, scores: str) -> str:
    output = graph.name("probabilities")
    if program.link == SOFTMAX:
        return graph.add("Softmax", [scores], output, axis=1)
    if program.link not in (COMPLEMENT, LOGISTIC):
        return graph.add("Identity", [scores], output)
    second = scores
    if program.link == LOGISTIC:
        scaled = graph.add("Mul", [scores, graph.number("scale", program.scale)], graph.name("scaled"))
        second = graph.add("Sigmoid", [scaled], graph.name("second"))
    first = graph.add("Sub", [graph.number("one", 1.0), second], graph.name("first"))
    return graph.add("Concat", [first, second], output, axis=1)
