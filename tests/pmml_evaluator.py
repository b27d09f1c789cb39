"""A small evaluator of PMML 4.4, written from the specification of the Data Mining Group, for the tests of exports.

It has the parts that trees need: mining schemas, derived fields by tables, predicates with an unknown result, the
strategies of missing values of TreeModel, segments, and regression models as link functions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from xml.etree import ElementTree

NAMESPACE = "{http://www.dmg.org/PMML-4_4}"
MODELS = ("TreeModel", "MiningModel", "RegressionModel")
PREDICATES = ("SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "True", "False")
COMPARISONS = {
    "equal": lambda a, b: a == b,
    "notEqual": lambda a, b: a != b,
    "lessThan": lambda a, b: a < b,
    "lessOrEqual": lambda a, b: a <= b,
    "greaterThan": lambda a, b: a > b,
    "greaterOrEqual": lambda a, b: a >= b,
}
Row = dict[str, Any]
# Probabilities by class, or a number.
Result = dict[str, float] | float


class Evaluator:
    """Predicts rows by a document."""

    def __init__(self, text: str) -> None:
        self.root = ElementTree.fromstring(text.encode())
        for element in self.root.iter():
            element.tag = element.tag.removeprefix(NAMESPACE)
        self.fields = {field.get("name"): field for field in self.root.iter("DataField")}
        self.types = {name: field.get("dataType") for name, field in self.fields.items()}
        self.types |= {field.get("name"): field.get("dataType") for field in self.root.iter("DerivedField")}
        self.valid = {
            name: {self.typed(name, value.get("value")) for value in field.iter("Value")}
            for name, field in self.fields.items()
        }
        self.compiled: dict[Any, Callable[[Row], bool | None]] = {}
        self.model = next(child for child in self.root if child.tag in MODELS)

    def typed(self, name: str | None, text: str | None) -> Any:
        """A value of a field in its type."""
        kind = self.types.get(name, "double")
        if kind == "boolean":
            return text == "true"
        return {"string": str, "integer": int, "double": float}[str(kind)](text)

    def predict(self, row: Row) -> Result:
        known = {name: cell for name, cell in row.items() if cell is not None and cell == cell}
        return self.evaluate(self.model, known)

    def evaluate(self, model: Any, row: Row) -> Result:
        row = self.prepare(model, row)
        if model.tag == "TreeModel":
            return self.evaluate_tree(model, row)
        if model.tag == "RegressionModel":
            return self.evaluate_regression(model, row)
        return self.evaluate_segments(model, row)

    def prepare(self, model: Any, row: Row) -> Row:
        """Apply the mining schema: invalid values, then missing values; and the derived fields."""
        if not self.is_prepared(model):
            return row
        row = dict(row)
        for field in model.find("MiningSchema"):
            name, treatment = field.get("name"), field.get("invalidValueTreatment", "returnInvalid")
            valid = self.valid.get(name)
            if valid and name in row and row[name] not in valid:
                assert treatment in ("asMissing", "asIs")
                if treatment == "asMissing":
                    del row[name]
            if name not in row and field.get("missingValueReplacement") is not None:
                row[name] = self.typed(name, field.get("missingValueReplacement"))
        for field in model.findall("LocalTransformations/DerivedField"):
            mapping = field.find("MapValues")
            source = mapping.find("FieldColumnPair").get("field")
            table = {
                self.typed(source, line.find("from").text or ""): self.typed(
                    field.get("name"), line.find("to").text or ""
                )
                for line in mapping.iter("row")
            }
            if source in row and row[source] in table:
                row[field.get("name")] = table[row[source]]
        return row

    def is_prepared(self, model: Any) -> bool:
        """Whether the mining schema of a model can change a row: segments have the schema of the model around them."""
        return model is self.model or model.find("LocalTransformations") is not None

    def evaluate_segments(self, model: Any, row: Row) -> Result:
        segmentation = model.find("Segmentation")
        method, found = segmentation.get("multipleModelMethod"), []
        for segment in segmentation:
            inner = segment[1]
            result = self.evaluate(inner, row)
            found.append(result)
            for field in inner.findall("Output/OutputField"):
                if method == "modelChain" and field.get("feature") == "predictedValue":
                    row[field.get("name")] = result
        if method == "modelChain":
            return found[-1]
        if isinstance(found[0], dict):
            return {name: sum(one[name] for one in found) / len(found) for name in found[0]}
        total = sum(found) / (len(found) if method == "average" else 1)
        target = model.find("Targets/Target")
        return total if target is None else total + float(target.get("rescaleConstant", 0.0))

    def evaluate_regression(self, model: Any, row: Row) -> Result:
        scores = {}
        for table in model.findall("RegressionTable"):
            terms = [float(one.get("coefficient")) * row[one.get("name")] for one in table]
            scores[table.get("targetCategory")] = sum(terms) + float(table.get("intercept"))
        method = model.get("normalizationMethod")
        if method == "exp":
            return math.exp(scores[None])
        if method == "softmax":
            powers = {name: math.exp(score) for name, score in scores.items()}
            return {name: power / sum(powers.values()) for name, power in powers.items()}
        first, second = scores
        share = 1.0 / (1.0 + math.exp(-scores[first]))
        return {first: share, second: 1.0 - share}

    def evaluate_tree(self, model: Any, row: Row) -> Result:
        return self.descend(model, model.find("Node"), row)

    def descend(self, model: Any, node: Any, row: Row) -> Result:
        children = children_of(node)
        if not children:
            return result_of(node)
        for child, predicate in children:
            passes = self.holds(predicate, row)
            if passes:
                return self.descend(model, child, row)
            if passes is None:
                return self.treat_missing(model, node, row)
        assert model.get("noTrueChildStrategy") == "returnLastPrediction"
        return result_of(node)

    def treat_missing(self, model: Any, node: Any, row: Row) -> Result:
        """The strategies of a node whose predicates are unknown."""
        children = children_of(node)
        if model.get("missingValueStrategy") == "defaultChild":
            chosen = next(child for child, _ in children if child.get("id") == node.get("defaultChild"))
            return self.descend(model, chosen, row)
        assert model.get("missingValueStrategy") == "weightedConfidence"
        scored = [child for child, predicate in children if self.holds(predicate, row) is not False]
        counts = [float(child.get("recordCount")) for child in scored]
        totals: dict[str, float] = {}
        for child, count in zip(scored, counts, strict=True):
            for name, confidence in self.descend(model, child, row).items():
                totals[name] = totals.get(name, 0.0) + count / sum(counts) * confidence
        return totals

    def holds(self, predicate: Any, row: Row) -> bool | None:
        """Whether a predicate is true; None if it is unknown."""
        if predicate not in self.compiled:
            self.compiled[predicate] = self.compile(predicate)
        return self.compiled[predicate](row)

    def compile(self, predicate: Any) -> Callable[[Row], bool | None]:
        if predicate.tag in ("True", "False"):
            return lambda row: predicate.tag == "True"
        if predicate.tag == "CompoundPredicate":
            assert predicate.get("booleanOperator") == "surrogate"
            tests = [self.compile(one) for one in predicate]
            return lambda row: next((found for test in tests if (found := test(row)) is not None), None)
        name, operator = predicate.get("field"), predicate.get("operator") or predicate.get("booleanOperator")
        if operator in ("isMissing", "isNotMissing"):
            return lambda row: (name not in row) == (operator == "isMissing")
        if predicate.tag == "SimplePredicate":
            compare, value = COMPARISONS[operator], self.typed(name, predicate.get("value"))
            return lambda row: compare(row[name], value) if name in row else None
        array = predicate.find("Array")
        words = re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', array.text or "")
        values = {self.typed(name, (quoted or plain).replace('\\"', '"')) for quoted, plain in words}
        assert len(values) == int(array.get("n"))
        return lambda row: (row[name] in values) == (operator == "isIn") if name in row else None


@cache
def children_of(node: Any) -> list[tuple[Any, Any]]:
    """The children of a node, each with its predicate."""
    return [(child, predicate_of(child)) for child in node.findall("Node")]


def predicate_of(node: Any) -> Any:
    return next(child for child in node if child.tag in PREDICATES)


@cache
def result_of(node: Any) -> Result:
    shares = {one.get("value"): float(one.get("confidence")) for one in node.findall("ScoreDistribution")}
    return shares or float(node.get("score"))
