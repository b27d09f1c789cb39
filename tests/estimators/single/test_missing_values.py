"""Missing values: the figures of the documentation worked out by hand, and every strategy in every learner."""

from __future__ import annotations

import doctest
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from statistics import mean, median
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treewright
from treewright import DecisionTreeClassifier, DecisionTreeRegressor
from treewright.estimators import single
from treewright.estimators.parameters import MISSING

DOC = Path(__file__).parents[3] / "docs" / "missing_values.md"

# The table of the documentation.
SKY = ["sun", "sun", "sun", "sun", "rain", "rain", "rain", "fog", None, None]
HUMIDITY = [85, 90, 95, None, 70, None, 80, 65, 75, 90]
PLAY = ["no", "no", "no", "no", "yes", "yes", "no", "yes", "yes", "no"]

# Class weights of each branch by its name, in the order no, yes.
Branches = dict[str, list[Fraction]]


def disorder(no: Fraction, yes: Fraction) -> Fraction:
    """Gini impurity times weight."""
    total = no + yes
    return total * (1 - (no / total) ** 2 - (yes / total) ** 2) if total else Fraction(0)


def disorder_of(branches: Branches) -> Fraction:
    return sum((disorder(*branch) for branch in branches.values()), Fraction(0))


def yes_in(branch: Sequence[Fraction]) -> Fraction:
    return branch[1] / sum(branch)


def divided(values: Sequence[Any], parts_of: Callable[[int], dict[Any, Fraction]]) -> Branches:
    """Class weights of the branches when each row goes down them in these parts."""
    branches: Branches = {}
    for row, answer in enumerate(PLAY):
        for name, part in parts_of(row).items():
            branches.setdefault(name, [Fraction(0), Fraction(0)])[answer == "yes"] += part
    return branches


def known_only(values: Sequence[Any]) -> Branches:
    return divided(values, lambda row: {} if values[row] is None else {values[row]: Fraction(1)})


def branches_of(values: Sequence[Any], stands_for: Callable[[int], dict[Any, Fraction]]) -> Branches:
    """The branches when rows with a missing value go down them as the function says, other rows down their own."""
    return divided(values, lambda row: stands_for(row) if values[row] is None else {values[row]: Fraction(1)})


def gain_of(branches: Branches) -> Fraction:
    """What the branches of all ten rows gain, six no and four yes."""
    return (disorder(Fraction(6), Fraction(4)) - disorder_of(branches)) / 10


def gain_of_known(values: Sequence[Any]) -> Fraction:
    """C4.5: the gain of the known rows alone, scaled by their share."""
    branches = known_only(values)
    whole = [sum(counts) for counts in zip(*branches.values(), strict=True)]
    known = sum(whole)
    return Fraction(known, len(values)) * (disorder(*whole) - disorder_of(branches)) / known


def shares_by_weight(values: Sequence[Any]) -> dict[Any, Fraction]:
    counts = Counter(value for value in values if value is not None)
    return {value: Fraction(count, sum(counts.values())) for value, count in counts.items()}


def average(branches: Branches, shares: dict[Any, Fraction]) -> Fraction:
    return sum((share * yes_in(branches[name]) for name, share in shares.items()), Fraction(0))


def most_common(answer: str | None = None) -> str:
    """The most common sky, among the rows of this class."""
    skies = (sky for sky, play in zip(SKY, PLAY, strict=True) if sky is not None and answer in (None, play))
    return Counter(skies).most_common(1)[0][0]


def work_out(strategy: str) -> tuple[Fraction, Branches, Fraction]:
    """By hand: gain of a split by the sky, class weights of its branches, and the share of yes for a missing value."""
    if strategy == "learned":
        tried = {home: branches_of(SKY, lambda row, home=home: {home: Fraction(1)}) for home in set(SKY) - {None}}
        home = max(tried, key=lambda home: gain_of(tried[home]))
        return gain_of(tried[home]), tried[home], yes_in(tried[home][home])
    if strategy in ("fractional", "all_branches"):
        shares = shares_by_weight(SKY)
        whole = strategy == "all_branches"
        branches = branches_of(SKY, lambda row: {sky: Fraction(1) if whole else part for sky, part in shares.items()})
        return gain_of_known(SKY), branches, average(branches, shares)
    if strategy == "every_value":
        shares = {sky: Fraction(1, 3) for sky in ("sun", "rain", "fog")}
        branches = branches_of(SKY, lambda row: shares)
        return gain_of(branches), branches, average(branches, shares)
    if strategy == "branch":
        branches = branches_of(SKY, lambda row: {"missing": Fraction(1)})
        return gain_of(branches), branches, yes_in(branches["missing"])
    by_class = strategy == "class_majority"
    branches = branches_of(SKY, lambda row: {most_common(PLAY[row] if by_class else None): Fraction(1)})
    return gain_of(branches), branches, yes_in(branches[most_common()])


def section(name: str) -> str:
    """What the documentation says about a strategy."""
    return DOC.read_text(encoding="utf-8").split(f"\n## {name}\n")[1].split("\n## ")[0]


def test_the_examples_of_the_documentation_run():
    assert doctest.testfile(str(DOC), module_relative=False).failed == 0


def test_the_documentation_has_a_section_for_every_strategy():
    for strategy in MISSING:
        assert f'| `"{strategy}"` |' in DOC.read_text(encoding="utf-8")
        section(strategy)


def test_every_equation_of_the_documentation_holds():
    prose = re.sub(r"```.*?```", "", DOC.read_text(encoding="utf-8"), flags=re.DOTALL)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose)]
    equations = [span for span in spans if re.fullmatch(r"[D\d\s().,+*/=-]+", span) and "=" in span]
    assert len(equations) >= 12
    for equation in equations:
        sides = [eval(side, {"D": lambda no, yes: 2 * no * yes / (no + yes)}) for side in equation.split("=")]
        # The terms of a sum are written to three decimals.
        assert sides == pytest.approx([sides[0]] * len(sides), abs=1.5e-3), equation


@pytest.mark.parametrize(
    "strategy", ["learned", "fractional", "every_value", "all_branches", "majority", "class_majority", "branch"]
)
def test_the_worked_figures_are_those_worked_out_by_hand(strategy):
    gain, branches, answer = work_out(strategy)
    lines = [f"gain {float(gain):.4f}"]
    for sky in ("sun", "rain", "fog", "missing"):
        if sky in branches:
            no, yes = map(float, branches[sky])
            lines.append(f"sky {'is' if sky == 'missing' else '='} {sky}: no {no:.3f}, yes {yes:.3f}")
    lines.append(f"a gap: yes {float(answer):.4f}")
    assert "\n".join(lines) in section(strategy)
    model = DecisionTreeClassifier(categorical="multiway", max_depth=1, missing=strategy).fit({"sky": SKY}, PLAY)
    assert model.tree_.root.gain == pytest.approx(float(gain), abs=1e-12)
    assert model.predict_proba({"sky": [None]})[0, 1] == pytest.approx(float(answer), abs=1e-12)


def test_the_better_side_of_a_threshold_is_the_one_worked_out_by_hand():
    tried = {}
    for cut in (67.5, 72.5, 77.5, 82.5, 87.5, 92.5):
        sides = [None if value is None else value > cut for value in HUMIDITY]
        for home in (False, True):
            tried[cut, home] = branches_of(sides, lambda row, home=home: {home: Fraction(1)})
    cut, home = max(tried, key=lambda split: gain_of(tried[split]))
    assert (cut, home) == (77.5, False)
    text = " ".join(section("learned").split())
    assert f"gain {float(gain_of(tried[cut, home])):.4f}" in text
    assert f"D(0, 3) + D(6, 1) = {float(disorder_of(tried[cut, True])):.3f}" in text
    for relation, side in (("<=", False), (">", True)):
        no, yes = map(float, tried[cut, home][side])
        assert f"humidity {relation} 77.5: no {no:.3f}, yes {yes:.3f}" in text
    assert f"a gap: yes {float(yes_in(tried[cut, home][home])):.4f}" in text


def test_the_filled_numbers_are_those_worked_out_by_hand():
    known = [value for value in HUMIDITY if value is not None]
    assert f"[{median(known)}]\n[{mean(known)}]" in section("majority")
    by_class = {
        answer: [value for value, play in zip(HUMIDITY, PLAY, strict=True) if play == answer and value is not None]
        for answer in ("no", "yes")
    }
    rainy = [70, 80, 65]
    others = [value for value in known if value not in rainy]
    text = " ".join(section("model").split())
    assert f"humidity is {mean(by_class['yes'])} on average where they play" in text
    assert f"and {mean(by_class['no'])} where they do not" in text
    assert f"[{round(mean(rainy), 2)}, {mean(others):.1f}]" in text
    low, high = sorted([max(by_class["yes"]), min(by_class["no"])])
    assert (low + high) / 2 == 77.5
    # Filled by class, a threshold of 77.5 leaves nothing mixed: the gain is the impurity of the whole.
    assert float(disorder(Fraction(6), Fraction(4)) / 10) == 0.48
    below = len({value for value in known if value <= 77.5})
    n_values = len(set(known))
    assert f"[{below / n_values:.4f}, {1 - below / n_values:.4f}]" in section("every_value")


def test_class_majority_takes_ten_groups_along_a_numeric_target():
    target = np.arange(40.0)
    size = np.where(target % 4 == 3, np.nan, 100 * (target // 4))
    model = DecisionTreeRegressor(missing="class_majority").fit({"size": size}, target)
    # Each group of four rows has one missing value, imputed with that of the other three: ten pure values, ten leaves.
    assert model.tree_.n_leaves == 10
    assert model.predict({"size": [0.0, 900.0]}).tolist() == [1.5, 37.5]


@pytest.mark.parametrize("middle", ["mean", "median"])
def test_weights_count_in_the_imputed_value(middle):
    size, weights = [1.0, 2.0, 10.0, np.nan, 20.0], [1, 1, 3, 1, 1]
    model = DecisionTreeClassifier(missing=("majority", middle)).fit(
        {"size": size}, ["a", "a", "b", "b", "b"], sample_weight=weights
    )
    repeated = [1.0, 2.0, 10.0, 10.0, 10.0, 20.0]
    assert model.tree_.imputation.usual.tolist() == [mean(repeated) if middle == "mean" else median(repeated)]


def test_a_table_of_one_column_can_be_filled_by_a_model():
    size = [float(value) for value in range(20)] + [np.nan] * 4
    target = ["low"] * 10 + ["high"] * 10 + ["low", "high"] * 2
    model = DecisionTreeClassifier(missing="model").fit({"size": size}, target)
    # The target tells the missing values of training rows; new rows have nothing to be told by, so they get the median.
    assert model.score({"size": size[:20]}, target[:20]) == 1.0
    assert model.predict({"size": [np.nan]}).tolist() == model.predict({"size": [9.5]}).tolist()


def test_a_refusal_names_columns_and_counts_and_a_strategy_that_every_learner_has():
    for name in single.__all__:
        learner = make(name, "error")
        table, target = TRAINING[:2] if name.endswith("Classifier") else (TRAINING[0], TRAINING[2])
        table = table[CATEGORICAL] if name == "ID3Classifier" else table
        with pytest.raises(ValueError, match=rf"'kind' \({table['kind'].isna().sum()}\)") as caught:
            learner.fit(table, target)
        proposed = str(caught.value).rsplit("missing=", 1)[1].strip("'")
        make(name, proposed).fit(table, target)


def table_of_a_hidden_state(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Columns of each kind that tell of one hidden state, three in ten cells empty; the state as class and number."""
    random = np.random.default_rng(seed)
    state = random.random(n_rows) < 0.45
    others = random.integers(0, 4, n_rows)
    frame = pd.DataFrame(
        {
            "size": random.normal(3.0 * state, 1.0),
            "count": np.round(random.normal(20 + 12 * state, 5)),
            "kind": np.array(["ash", "elm", "fir", "oak"])[np.where(random.random(n_rows) < 0.85, 2 * state, others)],
            "wet": pd.array(state ^ (random.random(n_rows) < 0.1), dtype="boolean"),
            "grade": pd.Categorical.from_codes(
                np.clip(2 * state + random.integers(0, 2, n_rows), 0, 2), ["low", "middle", "high"], ordered=True
            ),
        }
    )
    answer = np.where(state ^ (random.random(n_rows) < 0.03), "ripe", "raw")
    number = random.normal(10.0 * state, 2.0)
    return frame.mask(random.random(frame.shape) < 0.3), answer, number


CATEGORICAL = ["kind", "wet", "grade"]
TRAINING, NEW = table_of_a_hidden_state(300, seed=0), table_of_a_hidden_state(300, seed=1)

STRATEGIES = [*MISSING, ("majority", "mean"), ("class_majority", "mean")]
TESTED = [strategy for strategy in STRATEGIES if strategy != "error"]


def make(name: str, strategy: Any) -> Any:
    """A learner with its own settings, except where they do not suit the strategy."""
    learner = getattr(treewright, name)(missing=strategy)
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    # Rows that go whole down every branch multiply, and a full tree is ruled by them. What fills the missing values of
    # a numeric target's ten groups gives the groups away, and a full tree splits by nothing else.
    leaks = strategy[0] if isinstance(strategy, tuple) else strategy
    if leaks == "all_branches" or (leaks == "class_majority" and name.endswith("Regressor")):
        learner.set_params(**({"max_depth": 4} if "max_depth" in learner.get_params() else {}))
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("strategy", TESTED, ids=str)
@pytest.mark.parametrize("name", single.__all__)
def test_every_strategy_learns_from_a_table_with_missing_values(name, strategy):
    is_classifier = name.endswith("Classifier")
    frames = [frame[CATEGORICAL] if name == "ID3Classifier" else frame for frame, *_ in (TRAINING, NEW)]
    targets = [rest[0 if is_classifier else 1] for _, *rest in (TRAINING, NEW)]
    learner = make(name, strategy).fit(frames[0], targets[0])
    for frame, target in zip(frames, targets, strict=True):
        if is_classifier:
            shares = learner.predict_proba(frame)
            assert np.isfinite(shares).all()
            assert (shares >= 0.0).all()
            assert shares.sum(axis=1) == pytest.approx(1.0, abs=1e-9)
            majority = max(Counter(target).values()) / len(target)
            assert learner.score(frame, target) > majority + 0.1
        else:
            assert np.isfinite(learner.predict(frame)).all()
            assert learner.score(frame, target) > 0.1
    nothing = frames[1].mask(np.ones(frames[1].shape, dtype=bool))
    answers = learner.predict_proba(nothing) if is_classifier else learner.predict(nothing)
    assert np.isfinite(answers).all()
    assert (answers == answers[0]).all()


# Strategies that fill missing values are done before any criterion is asked.
GROWN_WITH = ["learned", "fractional", "every_value", "all_branches", "branch", "surrogate"]


@pytest.mark.parametrize("strategy", GROWN_WITH)
@pytest.mark.parametrize("criterion", ["sdr", "absolute_error", "poisson"])
@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_vs_rest"])
def test_every_strategy_goes_with_every_criterion_of_numbers(categorical, criterion, strategy):
    frames, numbers = (TRAINING[0], NEW[0]), (TRAINING[2], NEW[2])
    least = min(number.min() for number in numbers) if criterion == "poisson" else 0.0
    learner = DecisionTreeRegressor(
        criterion=criterion, categorical=categorical, missing=strategy, max_depth=4, min_samples_leaf=5
    ).fit(frames[0], numbers[0] - least)
    for frame, number in zip(frames, numbers, strict=True):
        assert np.isfinite(learner.predict(frame)).all()
        assert learner.score(frame, number - least) > 0.1


@pytest.mark.parametrize("strategy", GROWN_WITH)
@pytest.mark.parametrize("criterion", ["information_gain", "gain_ratio", "error"])
@pytest.mark.parametrize("categorical", ["subset", "multiway", "one_vs_rest"])
def test_every_strategy_goes_with_every_criterion_of_classes(categorical, criterion, strategy):
    learner = DecisionTreeClassifier(
        criterion=criterion, categorical=categorical, missing=strategy, max_depth=4, min_samples_leaf=5
    ).fit(TRAINING[0], TRAINING[1])
    for frame, answers in (TRAINING[:2], NEW[:2]):
        majority = max(Counter(answers).values()) / len(answers)
        assert learner.predict_proba(frame).sum(axis=1) == pytest.approx(1.0, abs=1e-9)
        assert learner.score(frame, answers) > majority + 0.1


@pytest.mark.parametrize("strategy", ["learned", "branch"])
@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], [5, 4, 3, 2, 1], list("pqqqq"), list("zqqqq")], ids=str)
@pytest.mark.parametrize("categorical", ["subset", "multiway"])
def test_a_missing_value_where_training_had_none_follows_the_heavier_branch(strategy, values, categorical):
    learner = DecisionTreeClassifier(missing=strategy, categorical=categorical)
    model = learner.fit({"x": values}, ["rare", "common", "common", "common", "common"])
    assert model.predict({"x": [None]}).tolist() == ["common"]


@pytest.mark.parametrize("strategy", ["learned", "branch", "fractional", "majority", "model"])
def test_an_unseen_category_is_answered_as_the_policy_says(strategy):
    table = {"sky": SKY, "humidity": HUMIDITY}
    new = {"sky": ["snow"], "humidity": [80]}
    answers = {}
    for unseen in ("as_missing", "stop", "majority"):
        model = DecisionTreeClassifier(categorical="multiway", max_depth=1, missing=strategy, unseen=unseen)
        model.fit({"sky": SKY}, PLAY)
        answers[unseen] = model.predict_proba({"sky": ["snow"]})[0, 1]
        for_missing = model.predict_proba({"sky": [None]})[0, 1]
        heaviest = max(model.tree_.root.children, key=lambda child: child.weight)
        expected = {"as_missing": for_missing, "stop": 0.4, "majority": heaviest.value[1]}
        assert answers[unseen] == pytest.approx(expected[unseen], abs=1e-12)
    refusing = DecisionTreeClassifier(missing=strategy, unseen="error").fit(table, PLAY)
    with pytest.raises(ValueError, match=r"unseen is 'error', but column 'sky'.*1 of 1 rows"):
        refusing.predict(new)
    assert math.isfinite(refusing.predict_proba({"sky": [None], "humidity": [80]})[0, 1])
