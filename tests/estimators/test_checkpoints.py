"""A fit that breaks off goes on from its checkpoint, to the model of a fit that did not break off, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

import treewright as tw
from model_digests import digest_of
from sample_tables import mixed_table, target_of
from treewright.estimators.checkpoints import Checkpoint

TABLE = mixed_table(300)
OTHER = mixed_table(100, seed=1)
FRAME = TABLE[0]

FORESTS: dict[str, Any] = {
    "random forest": tw.RandomForestClassifier(12, random_state=0),
    "with out-of-bag scores": tw.RandomForestRegressor(12, oob_score=True, random_state=0),
    "with quantiles": tw.RandomForestRegressor(9, quantiles=True, random_state=0),
    "extra trees": tw.ExtraTreesClassifier(9, criterion="entropy", random_state=0),
    "trees one by one": tw.RandomForestClassifier(9, missing="fractional", random_state=0),
    "chosen shape": tw.RandomForestClassifier(55, max_depth=3, random_state=0),
    "numbers": tw.ExtraTreesRegressor(9, max_leaf_nodes=8, random_state=0),
}
FEW = {"n_estimators": 12, "random_state": 0}
BOOSTING: dict[str, Any] = {
    "three classes": tw.GradientBoostingClassifier(**FEW),
    "numbers": tw.GradientBoostingRegressor(**FEW),
    "samples": tw.GradientBoostingRegressor(**FEW, subsample=0.5, colsample_bytree=0.5, train_score=True),
    "goss": tw.GradientBoostingRegressor(**FEW, goss=(0.2, 0.1), learning_rate=0.5, train_score=True),
    "absolute error": tw.GradientBoostingRegressor(**FEW, loss="absolute_error"),
    "huber": tw.GradientBoostingRegressor(**FEW, loss="huber", train_score=True),
    "oblivious": tw.GradientBoostingClassifier(**FEW, growth="oblivious"),
    "initial model": tw.GradientBoostingRegressor(**FEW, init=tw.DecisionTreeRegressor(max_depth=2)),
    "chosen rounds": tw.GradientBoostingRegressor(random_state=0, n_iter_no_change=5, learning_rate=0.3),
    "held out": tw.GradientBoostingClassifier(random_state=0, validation_fraction=0.2, n_iter_no_change=5),
}
LEARNERS = FORESTS | BOOSTING


class BrokenOffError(Exception):
    """The end of a fit after some checkpoints."""


def fit(learner: Any, table: Any = TABLE, **options: Any) -> Any:
    return clone(learner).fit(table[0], target_of(learner, table), **options)


def break_off(monkeypatch: pytest.MonkeyPatch, n_checkpoints: int, learner: Any, **options: Any) -> None:
    """Fit until a number of checkpoints are written."""
    write, written = Checkpoint.write, []

    def write_or_stop(self: Checkpoint, *given: Any) -> None:
        write(self, *given)
        written.append(given)
        if len(written) == n_checkpoints:
            raise BrokenOffError

    monkeypatch.setattr(Checkpoint, "write", write_or_stop)
    with pytest.raises(BrokenOffError):
        fit(learner, **options)
    monkeypatch.setattr(Checkpoint, "write", write)


def digest_without_path(model: Any) -> str:
    assert not hasattr(model, "checkpoint_")
    return digest_of(model.set_params(checkpoint=None, checkpoint_every=20))


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNERS)
def test_a_fit_that_broke_off_ends_with_the_same_model(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, path = LEARNERS[name], tmp_path / "state.tw"
    learner = clone(plain).set_params(checkpoint=path, checkpoint_every=4)
    whole = digest_of(fit(plain))
    break_off(monkeypatch, 2, learner)
    assert 0 < tw.load(path).n_estimators_ < fit(plain).n_estimators_
    assert digest_without_path(fit(learner)) == whole
    assert digest_without_path(fit(learner)) == whole  # from the checkpoint of the whole model


@pytest.mark.parametrize("n_checkpoints", [1, 4, 8])
def test_validation_rows_and_several_shapes_are_resumed(
    n_checkpoints: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tw.GradientBoostingRegressor(n_estimators=60, n_iter_no_change=4, learning_rate=0.4, random_state=0)
    rows = {"eval_set": [(FRAME[:50], TABLE[2][:50]), (OTHER[0], OTHER[2])], "init_score": np.linspace(0, 1, 300)}
    rows["init_score_val"] = [np.zeros(50), np.zeros(100)]
    learner = clone(plain).set_params(checkpoint=tmp_path / "state.tw", checkpoint_every=3)
    whole = fit(plain, **rows)
    break_off(monkeypatch, n_checkpoints, learner, **rows)
    resumed = fit(learner, **rows)
    assert resumed.evals_result_ == whole.evals_result_
    assert digest_without_path(resumed) == digest_of(whole)
    with pytest.raises(ValueError, match="other validation rows"):
        fit(learner)


@pytest.mark.slow
def test_the_held_out_rows_of_a_large_table_are_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(20_500, 2))
    y = X[:, 0] + np.abs(X[:, 1])
    plain = tw.GradientBoostingRegressor(n_iter_no_change=3, learning_rate=0.6, max_leaf_nodes=8, random_state=0)
    learner = clone(plain).set_params(checkpoint=tmp_path / "state.tw", checkpoint_every=5)
    break_off(monkeypatch, 2, learner, table=(X, y, y))
    assert digest_without_path(fit(learner, table=(X, y, y))) == digest_of(fit(plain, table=(X, y, y)))


@pytest.mark.parametrize("factor", [1e-250, 1e100])
def test_rounds_in_other_units_than_those_of_the_target_are_resumed(
    factor: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = (FRAME, TABLE[1], TABLE[2] * factor)
    plain = tw.GradientBoostingRegressor(**FEW)
    learner = clone(plain).set_params(checkpoint=tmp_path / "state.tw", checkpoint_every=4)
    break_off(monkeypatch, 2, learner, table=table)
    assert digest_without_path(fit(learner, table=table)) == digest_of(fit(plain, table=table))


def test_a_fit_without_a_seed_goes_on_with_the_seed_of_the_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    learner = tw.RandomForestClassifier(8, checkpoint=tmp_path / "state.tw", checkpoint_every=4)
    break_off(monkeypatch, 1, learner)
    seed = tw.load(tmp_path / "state.tw").seed_
    model = fit(learner)
    assert model.seed_ == seed
    trees = digest_of(fit(learner).set_params(checkpoint=None))
    assert digest_of(model.set_params(checkpoint=None)) == trees


@pytest.mark.parametrize("plain", [tw.RandomForestRegressor(4), tw.GradientBoostingRegressor(n_estimators=4)])
def test_a_checkpoint_of_another_fit_is_refused(plain: Any, tmp_path: Path) -> None:
    path = tmp_path / "state.tw"
    y = TABLE[2]
    learner = plain.set_params(checkpoint=path, checkpoint_every=2, random_state=0)
    learner.fit(FRAME, y)
    for change, what in [({"max_depth": 3}, "other parameters"), ({"random_state": 1}, "another random_state")]:
        with pytest.raises(ValueError, match=f"is of {what}; remove the file, or give another path"):
            clone(learner).set_params(**change).fit(FRAME, y)
    with pytest.raises(ValueError, match="is of other training data"):
        clone(learner).fit(FRAME, y + 1)
    with pytest.raises(ValueError, match="is of another learner"):
        tw.ExtraTreesRegressor(4, checkpoint=path).fit(FRAME, y)
    clone(learner).set_params(n_jobs=1, checkpoint_every=3).fit(FRAME, y)
    tw.save(plain.set_params(checkpoint=None).fit(FRAME, y), path)
    with pytest.raises(ValueError, match="is a model and no checkpoint"):
        clone(plain).set_params(checkpoint=path).fit(FRAME, y)
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(tw.ModelFileError, match=r"the checkpoint .* damaged"):
        clone(plain).set_params(checkpoint=path).fit(FRAME, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"checkpoint": 3}, "checkpoint is 3; give the path of a file"),
        ({"checkpoint_every": 0}, "checkpoint_every is 0; give a whole number"),
        ({"warm_start": True}, "use one of them"),
        ({"checkpoint": "no/such/folder/state.tw"}, "does not exist"),
        ({"init": KNeighborsRegressor()}, "cannot contain sklearn's KNeighborsRegressor"),
    ],
)
def test_what_cannot_be_resumed_is_refused_before_the_fit(
    parameters: dict[str, Any], message: str, tmp_path: Path
) -> None:
    learner = tw.GradientBoostingRegressor(**{"n_estimators": 3, "checkpoint": tmp_path / "state.tw", **parameters})
    with pytest.raises(ValueError, match=message):
        learner.fit(np.arange(40.0)[:, None], np.arange(40.0))


def test_an_initial_model_of_scikit_learn_is_resumed(tmp_path: Path) -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40.0) ** 2
    plain = tw.GradientBoostingRegressor(init=LinearRegression(), n_estimators=3, random_state=0)
    learner = clone(plain).set_params(checkpoint=tmp_path / "state.tw", checkpoint_every=1)
    learner.fit(X, y)
    assert (learner.fit(X, y).predict(X) == plain.fit(X, y).predict(X)).all()


FITTING = """
import sys
from sample_tables import mixed_table, target_of
import treewright as tw
from treewright.estimators.checkpoints import Checkpoint
write = Checkpoint.write
def write_and_print(self, *given):
    write(self, *given)
    print("written", flush=True)
Checkpoint.write = write_and_print
learner = getattr(tw, sys.argv[1])(30, random_state=0) if "Forest" in sys.argv[1] else getattr(tw, sys.argv[1])(
    n_estimators=30, random_state=0)
learner.set_params(checkpoint=sys.argv[2], checkpoint_every=2)
table = mixed_table(300)
learner.fit(table[0], target_of(learner, table))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["RandomForestClassifier", "GradientBoostingRegressor"])
def test_a_killed_process_is_resumed(name: str, tmp_path: Path) -> None:
    path = tmp_path / "state.tw"
    command = [sys.executable, "-c", FITTING, name, str(path)]
    for n_lines in (2, 3):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1])
        assert process.stdout is not None
        for _ in range(n_lines):
            assert process.stdout.readline()
        process.kill()
        process.communicate()
    assert 4 <= tw.load(path).n_estimators_ <= 30
    learner = getattr(tw, name)(n_estimators=30, random_state=0)
    whole = digest_of(fit(learner))
    assert digest_without_path(fit(learner.set_params(checkpoint=path, checkpoint_every=2))) == whole
