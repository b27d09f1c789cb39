"""A model as PMML 4.4: a TreeModel, or a MiningModel of several.

The values that the Data Mining Group's standard leaves to strategies are these. Missing values follow the default child
(`defaultChild`), or a fraction of the row follows every branch (`weightedConfidence`). Categories that did not occur in
training are invalid values, which count as missing (`asMissing`); or the row stops at the node
(`returnLastPrediction`). Surrogates are compound predicates of the operator `surrogate`.
"""

from __future__ import annotations

import math
import sys
from typing import Any
from xml.etree import ElementTree

import numpy as np

from treewright.ship.exports.program import check_classes, check_tree, free_name, unseen_branch
from treewright.ship.exports.tree_sum import COMPLEMENT, EXP, LOGISTIC, SOFTMAX, ExportError, TreeSum, sum_of
from treewright.table.column import Column
from treewright.tree.tree import SplitKind, Tree

NAMESPACE = "http://www.dmg.org/PMML-4_4"

Element = ElementTree.Element


def to_pmml(model: Any) -> str:
    """The model as an XML document."""
    found = sum_of(model)
    writer = _Writer(found)
    root = ElementTree.Element("PMML", {"version": "4.4", "xmlns": NAMESPACE})
    header = _sub(root, "Header", description=f"Predictions of a {type(model).__name__}.")
    _sub(header, "Application", name="treewright")
    writer.add_dictionary(root)
    writer.add_model(root)
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _sub(parent: Element, tag: str, **attributes: Any) -> Element:
    """A new element; attributes that are None are left out."""
    known = {name: _text(value) for name, value in attributes.items() if value is not None}
    return ElementTree.SubElement(parent, tag, known)


def _text(value: Any) -> str:
    """A value as PMML writes it."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return repr(float(value))
    return str(value)


def _array(values: list[Any]) -> tuple[str, str]:
    """The type and the text of an array."""
    if all(isinstance(one, str) for one in values):
        quoted = ('"' + one.replace('"', '\\"') + '"' for one in values)
        return "string", " ".join(quoted)
    kind = "int" if all(isinstance(one, int) and not isinstance(one, bool) for one in values) else "real"
    return ("string" if isinstance(values[0], bool) else kind), " ".join(map(_text, values))


def _type_of(values: Any, what: str) -> str:
    """The data type of categories or classes."""
    if all(isinstance(one, str) for one in values):
        return "string"
    if all(isinstance(one, bool) for one in values):
        return "boolean"
    if all(isinstance(one, int) and not isinstance(one, bool) for one in values):
        return "integer"
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
        return "double"
    raise ExportError(f"{what} are neither all text nor all numbers, which PMML cannot say; convert them to text")


class _Writer:
    """Writes the elements of one model."""

    def __init__(self, found: TreeSum) -> None:
        self.found = found
        self.columns = found.columns
        self.classes: list[Any] | None = None
        if found.classes is not None:
            check_classes(found.classes)
            self.classes = list(found.classes)
        names = [column.name for column in self.columns]
        self.target = free_name(found.target or "y", names)
        self.taken = [*names, self.target]
        first = found.trees[0][0]
        self.unseen, self.imputation = first.unseen, first.imputation
        for tree, _, _ in found.trees:
            check_tree(tree, surrogates=True, imputation=True)
        if self.imputation is not None and len(found.trees) > 1:
            raise ExportError(
                "each tree of the model has an imputation of its own, which PMML cannot say; "
                "fit it with missing='learned'"
            )
        if self.imputation is not None and self.imputation.guesses:
            raise ExportError(
                "the model has an imputation by trees, which PMML cannot say; fit it with missing='learned'"
            )

    def add_dictionary(self, root: Element) -> None:
        dictionary = _sub(root, "DataDictionary")
        for column in self.columns:
            if not column.categories:
                _sub(dictionary, "DataField", name=column.name, optype="continuous", dataType="double")
                continue
            kind = _type_of(column.categories, f"the categories of column {column.name!r}")
            field = _sub(dictionary, "DataField", name=column.name, optype="categorical", dataType=kind)
            for one in column.categories:
                _sub(field, "Value", value=one)
        if self.classes is None:
            _sub(dictionary, "DataField", name=self.target, optype="continuous", dataType="double")
            return
        kind = _type_of(self.classes, "the classes")
        field = _sub(dictionary, "DataField", name=self.target, optype="categorical", dataType=kind)
        for one in self.classes:
            _sub(field, "Value", value=one)

    def add_model(self, root: Element) -> None:
        """Add the model: one tree, an average of trees, or sums of trees and a link function."""
        found = self.found
        if len(found.trees) == 1 and found.constant is None:
            tree, values, _ = found.trees[0]
            self._add_tree(root, tree, self._shares(values), output=True)
            return
        if found.constant is None:
            model = self._open(root, "MiningModel", output=True)
            segments = _sub(model, "Segmentation", multipleModelMethod="average")
            for tree, values, _ in found.trees:
                self._add_tree(self._segment(segments), tree, self._shares(values))
            return
        if self.classes is None and found.link != EXP:
            self._add_scores(root, 0, output=True)
            return
        self._add_chain(root)

    def _shares(self, values: np.ndarray) -> np.ndarray:
        """The values of nodes; the share of the second of two classes becomes both."""
        return np.hstack([1.0 - values, values]) if self.found.link == COMPLEMENT else values

    def _segment(self, segments: Element) -> Element:
        segment = _sub(segments, "Segment", id=str(len(segments) + 1))
        _sub(segment, "True")
        return segment

    def _open(self, parent: Element, tag: str, *, output: bool = False, **attributes: Any) -> Element:
        """A model with its mining schema, and the output of the predictions."""
        function = "regression" if self.classes is None or attributes.pop("scores", False) else "classification"
        attributes.pop("scores", None)
        model = _sub(parent, tag, functionName=function, **attributes)
        schema = _sub(model, "MiningSchema")
        if tag != "RegressionModel":
            for place, column in enumerate(self.columns):
                self._add_field(schema, place, column)
        if function == "classification" or self.classes is None:
            _sub(schema, "MiningField", name=self.target, usageType="target")
        if output:
            self._add_output(model)
        return model

    def _add_field(self, schema: Element, place: int, column: Column) -> None:
        treatment = "asMissing" if column.categories and self.unseen == "as_missing" else "asIs"
        usual = None if self.imputation is None else float(self.imputation.usual[place])
        replacement: Any = None
        if usual is not None and not math.isnan(usual):
            replacement = column.categories[int(usual)] if column.categories else usual
        _sub(
            schema,
            "MiningField",
            name=column.name,
            invalidValueTreatment=treatment,
            missingValueReplacement=replacement,
        )

    def _add_output(self, model: Element) -> None:
        output = _sub(model, "Output")
        if self.classes is None:
            name = free_name("prediction", self.taken)
            attributes = {"optype": "continuous", "dataType": "double", "feature": "predictedValue"}
            _sub(output, "OutputField", name=name, **attributes)
            return
        for one in self.classes:
            name = free_name(f"probability({_text(one)})", self.taken)
            attributes = {"optype": "continuous", "dataType": "double", "feature": "probability"}
            _sub(output, "OutputField", name=name, value=one, **attributes)

    def _add_scores(
        self, parent: Element, output_number: int, *, output: bool = False, name: str | None = None
    ) -> None:
        """Add the sum of the trees of one output."""
        model = self._open(parent, "MiningModel", output=output, scores=True)
        if name is not None:
            field = _sub(model, "Output")
            attributes = {"optype": "continuous", "dataType": "double", "feature": "predictedValue"}
            _sub(field, "OutputField", name=name, **attributes)
        constant = (self.found.constant or [0.0])[output_number]
        if self.classes is None and name is None:
            targets = _sub(model, "Targets")
            _sub(targets, "Target", field=self.target, rescaleConstant=constant)
        segments = _sub(model, "Segmentation", multipleModelMethod="sum")
        for tree, values, first in self.found.trees:
            place = output_number - first
            if 0 <= place < values.shape[1]:
                self._add_tree(self._segment(segments), tree, values[:, place : place + 1], scores=True)

    def _add_chain(self, parent: Element) -> None:
        """Add the sums of the trees, and then the link function as a regression on them."""
        found, constant = self.found, self.found.constant or [0.0]
        model = self._open(parent, "MiningModel")
        segments = _sub(model, "Segmentation", multipleModelMethod="modelChain")
        names = [free_name(f"score_{k}", self.taken) for k in range(len(constant))]
        for k, name in enumerate(names):
            self._add_scores(self._segment(segments), k, name=name)
        methods = {EXP: "exp", LOGISTIC: "logit", SOFTMAX: "softmax"}
        method = methods[found.link]
        link = self._open(self._segment(segments), "RegressionModel", output=True, normalizationMethod=method)
        for name in names:
            _sub(link[0], "MiningField", name=name)
        if found.link == EXP:
            self._add_equation(link, names[0], constant[0], 1.0, None)
            return
        assert self.classes is not None
        if found.link == LOGISTIC:
            self._add_equation(link, names[0], found.scale * constant[0], found.scale, self.classes[1])
            _sub(link, "RegressionTable", intercept=0.0, targetCategory=self.classes[0])
            return
        for one, name, start in zip(self.classes, names, constant, strict=True):
            self._add_equation(link, name, start, 1.0, one)

    def _add_equation(self, link: Element, name: str, constant: float, factor: float, category: Any) -> None:
        table = _sub(link, "RegressionTable", intercept=constant, targetCategory=category)
        _sub(table, "NumericPredictor", name=name, coefficient=factor)

    def _add_tree(
        self, parent: Element, tree: Tree, values: np.ndarray, *, output: bool = False, scores: bool = False
    ) -> None:
        inner = tree.n_children > 0
        divides = bool((tree.missing_branch[inner] < 0).any())
        if divides and (self.classes is None or scores):
            raise ExportError(
                "the model sends fractions of a row down several branches (missing='fractional'), which PMML has for "
                "classes only; fit it with missing='learned'"
            )
        if divides and (tree.missing_branch[inner] >= 0).any():
            raise ExportError(
                "the model sends fractions of a row down several branches at some nodes only, which PMML cannot say; "
                "fit it with missing='learned'"
            )
        model = self._open(
            parent,
            "TreeModel",
            output=output,
            scores=scores,
            missingValueStrategy="weightedConfidence" if divides else "defaultChild",
            noTrueChildStrategy="returnLastPrediction",
            splitCharacteristic="multiSplit" if (tree.n_children > 2).any() else "binarySplit",
        )
        _TreeWriter(self, model, tree, values, None if scores else self.classes, divides).add()


class _TreeWriter:
    """Writes the nodes of one tree."""

    def __init__(
        self, writer: _Writer, model: Element, tree: Tree, values: np.ndarray, classes: list[Any] | None, divides: bool
    ) -> None:
        self.writer, self.model, self.tree, self.values = writer, model, tree, values
        self.classes, self.divides = classes, divides
        self.transformations: Element | None = None
        # The number of records of a node, which is the weight of the row at each of several branches.
        self.records = np.array(tree.weight, dtype=np.float64)
        if divides:
            self.records = np.ones(tree.n_nodes)
            for node in range(1, tree.n_nodes):
                self.records[node] = self.records[tree.parent[node]] * tree.share[node]

    def add(self) -> None:
        elements: dict[int, Element] = {}
        for node in self.tree:
            index = node.index
            above = int(self.tree.parent[index])
            elements[index] = self._add_node(self.model if above < 0 else elements[above], index)
            self._add_predicate(elements[index], above, index)
            self._add_distribution(elements[index], index)

    def _add_node(self, parent: Element, index: int) -> Element:
        tree = self.tree
        values = self.values[index]
        score = float(values[0]) if self.classes is None else self.classes[int(np.argmax(values))]
        default = None
        if tree.n_children[index] and not self.divides:
            default = f"n{tree.first_child[index] + tree.missing_branch[index]}"
        return _sub(
            parent, "Node", id=f"n{index}", score=score, recordCount=float(self.records[index]), defaultChild=default
        )

    def _add_distribution(self, element: Element, index: int) -> None:
        if self.classes is None:
            return
        for one, share in zip(self.classes, self.values[index].tolist(), strict=True):
            share = min(max(share, 0.0), 1.0)
            count = share * float(self.records[index])
            _sub(element, "ScoreDistribution", value=one, recordCount=count, confidence=share, probability=share)

    def _add_predicate(self, element: Element, above: int, index: int) -> None:
        """Add the predicate of the branch from the node above."""
        if above < 0:
            _sub(element, "True")
            return
        branch = index - int(self.tree.first_child[above])
        surrogates = self._surrogates(above, branch)
        if surrogates:
            element = _sub(element, "CompoundPredicate", booleanOperator="surrogate")
        self._add_test(element, above, branch)
        for name, operator, value in surrogates:
            if isinstance(value, list):
                self._add_set(element, name, value, operator)
            else:
                _sub(element, "SimplePredicate", field=name, operator=operator, value=value)

    def _add_test(self, element: Element, node: int, branch: int) -> None:
        """Add the test of the split itself."""
        tree, column = self.tree, self.tree.columns[self.tree.column[node]]
        missing = int(tree.missing_branch[node])
        if column.is_numeric:
            threshold = float(tree.threshold[node]) + tree.tolerance
            if math.isinf(threshold):
                self._add_known(element, column, is_known=(branch == 0) == (threshold > 0))
                return
            operator = "lessOrEqual" if branch == 0 else "greaterThan"
            _sub(element, "SimplePredicate", field=column.name, operator=operator, value=threshold)
            return
        chosen = self._categories(node)
        own = chosen.get(branch, [])
        if not own and branch == missing:
            self._add_known(element, column, is_known=False)
            return
        if tree.unseen == "majority" and branch == unseen_branch(tree, node):
            others = [code for other, codes in chosen.items() if other != branch for code in codes]
            if others:
                self._add_set(element, column.name, [column.categories[code] for code in others], operator="isNotIn")
            else:
                self._add_known(element, column, is_known=True)
            return
        if not own:
            _sub(element, "False")
            return
        self._add_set(element, column.name, [column.categories[code] for code in own])

    def _add_known(self, element: Element, column: Column, *, is_known: bool) -> None:
        _sub(element, "SimplePredicate", field=column.name, operator="isNotMissing" if is_known else "isMissing")

    def _add_set(self, element: Element, name: str, values: list[Any], operator: str = "isIn") -> None:
        if len(values) == 1:
            simple = "equal" if operator == "isIn" else "notEqual"
            _sub(element, "SimplePredicate", field=name, operator=simple, value=values[0])
            return
        predicate = _sub(element, "SimpleSetPredicate", field=name, booleanOperator=operator)
        kind, text = _array(values)
        array = _sub(predicate, "Array", type=kind, n=str(len(values)))
        array.text = text

    def _categories(self, node: int) -> dict[int, list[int]]:
        """The categories that follow each branch."""
        tree = self.tree
        codes = range(len(tree.columns[tree.column[node]].categories))
        if tree.kind[node] == SplitKind.MULTIWAY:
            return {code: [code] for code in codes}
        inside = (
            set(tree.category_set(node))
            if tree.kind[node] == SplitKind.SUBSET
            else {code for code in codes if code <= tree.threshold[node]}
        )
        return {0: [code for code in codes if code in inside], 1: [code for code in codes if code not in inside]}

    def _surrogates(self, node: int, branch: int) -> list[tuple[str, str, Any]]:
        """The surrogates of a branch: the field to test, the operator, and a threshold or categories."""
        found = self.tree.surrogates
        if found is None:
            return []
        tests: list[tuple[str, str, Any]] = []
        for k, place in enumerate(found.column[node].tolist()):
            if place < 0:
                break
            column = self.tree.columns[place]
            low, high = int(found.low_branch[node, k]), int(found.high_branch[node, k])
            threshold = float(found.threshold[node, k])
            if column.is_numeric:
                # A branch that the surrogate never selects has a test that no number passes.
                operators = {low: ("lessOrEqual", threshold), high: ("greaterThan", threshold)}
                tests.append((column.name, *operators.get(branch, ("lessThan", -sys.float_info.max))))
                continue
            way = self._ways(node, k, column, low, high, threshold)
            own = [column.categories[code] for code, to in way.items() if to == branch]
            every = [column.categories[code] for code in way]
            name = self._field_of(column, sorted(way))
            tests.append((name, "isIn", own) if own else (name, "isNotIn", every))
        return tests

    def _ways(self, node: int, k: int, column: Column, low: int, high: int, threshold: float) -> dict[int, int]:
        """The branch of each category by a surrogate."""
        assert self.tree.surrogates is not None
        start = int(self.tree.surrogates.map_start[node, k])
        if start < 0:
            return {code: low if code <= threshold else high for code in range(len(column.categories))}
        codes, ways = self.tree.category_map(start)
        return dict(zip(codes.tolist(), ways.tolist(), strict=True))

    def _field_of(self, column: Column, known: list[int]) -> str:
        """The field that a surrogate tests: categories that it does not know are missing there."""
        if len(known) == len(column.categories) and self.tree.unseen == "as_missing":
            return column.name
        if self.transformations is None:
            self.transformations = ElementTree.Element("LocalTransformations")
            places = [place for place, child in enumerate(self.model) if child.tag in ("MiningSchema", "Output")]
            self.model.insert(places[-1] + 1, self.transformations)
        numbers = " ".join(map(str, known))
        name = free_name(f"{column.name} among {numbers}", self.writer.taken)
        if all(field.get("name") != name for field in self.transformations):
            kind = _type_of(column.categories, f"the categories of column {column.name!r}")
            field = _sub(self.transformations, "DerivedField", name=name, optype="categorical", dataType=kind)
            mapping = _sub(field, "MapValues", outputColumn="to", dataType=kind)
            _sub(mapping, "FieldColumnPair", field=column.name, column="from")
            table = _sub(mapping, "InlineTable")
            for code in known:
                row = _sub(table, "row")
                for tag in ("from", "to"):
                    _sub(row, tag).text = _text(column.categories[code])
        return name
