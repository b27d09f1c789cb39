"""The tables that ship with the library are those of their sources."""

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from treewright import datasets
from treewright.datasets.make_orchard import make_orchard
from treewright.table import Kind, read_classes, read_frame


def entropy(labels) -> float:
    shares = [count / len(labels) for count in Counter(labels).values()]
    return -sum(share * math.log2(share) for share in shares)


def gain(dataset: datasets.Dataset, column: str) -> float:
    values, labels = dataset.frame[column].tolist(), dataset.y.tolist()
    parts = [[y for x, y in zip(values, labels, strict=True) if x == value] for value in set(values)]
    return entropy(labels) - sum(len(part) / len(labels) * entropy(part) for part in parts)


@pytest.mark.parametrize("name", datasets.names())
def test_every_dataset_can_be_learned_from(name):
    dataset = datasets.load(name)
    assert dataset.name == name
    assert dataset.target not in dataset.X.columns
    table = read_frame(dataset.X)
    codes, classes = read_classes(dataset.y)
    assert len(table.values) == len(codes) == len(dataset.frame)
    assert len(classes) >= 2
    assert dataset.description


# Information gains as the lectures print them.
@pytest.mark.parametrize(
    ("name", "column", "printed", "digits"),
    [
        ("weather", "outlook", 0.247, 3),
        ("weather", "temperature", 0.0292, 4),
        ("weather", "humidity", 0.1518, 4),
        ("weather", "wind", 0.0481, 4),
        ("edible", "size", 0.1058, 4),
        ("edible", "shape", 0.0359, 4),
        ("animals", "color", 0.02, 2),
    ],
)
def test_the_gains_are_those_of_the_lectures(name, column, printed, digits):
    assert round(gain(datasets.load(name), column), digits) == printed


def test_weather_has_its_days_on_request():
    assert "day" not in datasets.load_weather().X
    days = datasets.load_weather(with_day=True).frame["day"]
    assert days.tolist() == [f"d{number}" for number in range(1, 15)]
    assert read_frame(datasets.load_weather().X).columns[0].categories == ("sunny", "overcast", "rainy")


def test_concept_declares_the_values_that_never_occur():
    columns = {column.name: column.categories for column in read_frame(datasets.load_concept().X).columns}
    assert columns["wind"] == ("strong", "weak")
    assert columns["sky"] == ("sunny", "cloudy", "rainy")


def test_taxable_income_is_the_table_of_the_lecture():
    dataset = datasets.load_taxable_income()
    assert dataset.X["income"].tolist() == [60, 70, 75, 85, 90, 95, 100, 120, 125, 220]
    assert dataset.y.tolist() == ["no"] * 3 + ["yes"] * 3 + ["no"] * 4


def test_iris_is_that_of_scikit_learn():
    theirs = sklearn.datasets.load_iris()
    dataset = datasets.load_iris()
    np.testing.assert_array_equal(read_frame(dataset.X).values, theirs.data)
    assert dataset.y.tolist() == theirs.target_names[theirs.target].tolist()


def test_orchard_has_every_kind_of_column_and_missing_values():
    dataset = datasets.load_orchard()
    table = read_frame(dataset.X)
    assert {column.kind for column in table.columns} == set(Kind)
    assert {column.unit.value for column in table.columns} == {"plain", "date"}
    assert {column.name for column in table.columns if column.categories == (False, True)} == {"irrigated"}
    assert 0.06 < np.isnan(table.values).mean() < 0.10


def test_orchard_is_what_its_program_makes_and_says_so():
    file = Path(datasets.__file__).parent / "data" / "orchard.arff"
    text = file.read_text(encoding="utf-8")
    assert text == make_orchard()
    assert "made table, not measured" in text
    assert "made data" in datasets.load_orchard().description


def test_orchard_can_be_learned():
    dataset = datasets.load_orchard()
    majority = max(Counter(dataset.y.tolist()).values()) / len(dataset.y)
    learner = DecisionTreeClassifier(max_depth=5, random_state=0)
    scores = cross_val_score(learner, read_frame(dataset.X).values, dataset.y, cv=3)
    assert scores.mean() > majority + 0.1


def test_an_error_about_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="there is no dataset 'titanic'; the names are weather, edible"):
        datasets.load("titanic")
