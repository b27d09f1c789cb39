"""A program as an ONNX model: one TreeEnsemble of ai.onnx.ml 5, with an input for each column.

Numbers are double tensors, categories of text are string tensors, each of shape [rows, 1]. NaN and the empty text are
missing. Categories become codes by a LabelEncoder, and nodes test whether a code is in a set (BRANCH_MEMBER).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treewright.ship.exports.program import (
    COMPLEMENT,
    EVERY,
    EXP,
    LOGISTIC,
    SOFTMAX,
    STOP,
    ExportError,
    Program,
    categories_by_branch,
    check_classes,
    free_name,
)
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
    if EVERY in program.missing:
        raise ExportError(
            "the model divides rows with missing values among branches (missing='fractional', as in C4.5), which a "
            "TreeEnsemble of ONNX cannot do; fit it with missing='learned'"
        )
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
    """The arrays of a TreeEnsemble; a child is the number of a node, or of a leaf."""

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

    def add_test(self, column: int, codes: list[int] | None, threshold: float, missing_is_true: bool) -> int:
        """Add a node without children: a set of codes, or a threshold if it is None."""
        self.feature.append(column)
        self.mode.append(BRANCH_LEQ if codes is None else BRANCH_MEMBER)
        self.split.append(threshold)
        self.members.append([] if codes is None else [float(FIRST_CODE + code) for code in codes])
        self.missing_is_true.append(int(missing_is_true))
        self.true.append((-1, 0))
        self.false.append((-1, 0))
        return len(self.mode) - 1

    def add_leaf(self, target: int, weight: float) -> tuple[int, int]:
        self.leaf_target.append(target)
        self.leaf_weight.append(weight)
        return len(self.leaf_weight) - 1, 1


# A way of a row at a node: the codes of categories (None for a threshold), whether missing values follow it, and the
# node of the program that it leads to, with True if that node predicts although it is no leaf.
_Way = tuple[list[int] | None, bool, int, bool]


def _ways(program: Program, node: int) -> list[_Way]:
    """The ways of a node of categories; each value follows exactly one of them."""
    column = program.columns[program.column[node]]
    chosen = categories_by_branch(program, node)
    unseen, missing, code = program.unseen[node], program.missing[node], len(column.categories)
    ways: list[_Way] = [([code], False, node, True)] if unseen == STOP else []
    for branch in range(program.n_children[node]):
        codes = [*chosen.get(branch, []), *([code] if branch == unseen else [])]
        if codes or branch == missing:
            ways.append((codes, branch == missing, program.child[node] + branch, False))
    return ways


def _add_tree(trees: _Ensemble, program: Program, root: int, place: int, target: int) -> None:
    """Add the tree of one value of the leaves."""

    def leaf(node: int) -> tuple[int, int]:
        return trees.add_leaf(target, program.values[program.value[node] + place])

    if program.kind[root] == 0:
        # A root without a split is a node with the same leaf on both sides.
        trees.roots.append(trees.add_test(0, None, 0.0, False))
        trees.true[-1] = trees.false[-1] = leaf(root)
        return
    trees.roots.append(len(trees.mode))
    waiting: list[tuple[int, list[tuple[int, int]] | None, int]] = [(root, None, 0)]
    while waiting:
        node, side, parent = waiting.pop()
        if program.kind[node] == 0:
            assert side is not None
            side[parent] = leaf(node)
            continue
        first = len(trees.mode)
        if side is not None:
            side[parent] = (first, 0)
        waiting += _add_node(trees, program, node, leaf)


def _add_node(trees: _Ensemble, program: Program, node: int, leaf: Any) -> list[Any]:
    """Add the tests of one node; returns its children, and where each is to be noted."""
    place, child, missing = program.column[node], program.child[node], program.missing[node]
    if not program.columns[place].categories:
        at = trees.add_test(place, None, program.threshold[node], missing == 0)
        return [(child, trees.true, at), (child + 1, trees.false, at)]
    ways = _ways(program, node)
    if len(ways) == 1:
        ways = [([], False, *ways[0][2:]), *ways]  # a test that is never true
    children = []
    before = -1
    for number, (codes, takes_missing, to, predicts) in enumerate(ways):
        is_last = number == len(ways) - 1
        if not is_last:
            # Codes are positive, so that no code is up to 0.
            at = trees.add_test(place, codes or None, 0.0, takes_missing)
            if before >= 0:
                trees.false[before] = (at, 0)
            before = at
        side = trees.false if is_last else trees.true
        if predicts:
            side[before] = leaf(to)
        else:
            children.append((to, side, before))
    return children


def _add_trees(graph: _Graph, program: Program) -> None:
    trees = _Ensemble()
    for root, output in zip(program.roots, program.outputs, strict=True):
        for place in range(program.n_values):
            _add_tree(trees, program, root, place, output + place)
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
