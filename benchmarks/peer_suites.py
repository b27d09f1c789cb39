"""Run scikit-learn's own tests of trees and ensembles against the learners of this library, and count what passes.

    python benchmarks/peer_suites.py
    python benchmarks/peer_suites.py forest bagging --failures failures.txt

The learners are put in the place of scikit-learn's under its names, before its test modules are imported. Only names
are translated: a parameter that means the same gets our name, and one that has its default there is left out. The
choice to stop early, which is `early_stopping` or `n_iter_no_change` there, is `validation_fraction` here. Tests of
private functions, of scikit-learn's own trees as objects, and of exact error texts cannot pass. The figure is a measure
of how much code written for scikit-learn runs unchanged.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

SUITES = {
    "tree": "sklearn.tree.tests.test_tree",
    "monotonic_tree": "sklearn.tree.tests.test_monotonic_tree",
    "forest": "sklearn.ensemble.tests.test_forest",
    "bagging": "sklearn.ensemble.tests.test_bagging",
    "gradient_boosting": "sklearn.ensemble.tests.test_gradient_boosting",
    "adaboost": "sklearn.ensemble.tests.test_weight_boosting",
    "voting": "sklearn.ensemble.tests.test_voting",
    "stacking": "sklearn.ensemble.tests.test_stacking",
    "common": "sklearn.ensemble.tests.test_common",
    "hist_boosting": "sklearn.ensemble._hist_gradient_boosting.tests.test_gradient_boosting",
    "hist_monotonic": "sklearn.ensemble._hist_gradient_boosting.tests.test_monotonic_constraints",
    "hist_warm_start": "sklearn.ensemble._hist_gradient_boosting.tests.test_warm_start",
    "export": "sklearn.tree.tests.test_export",
}

# Parameters of scikit-learn that have another name here, for the learners that have it.
RENAMED = {
    "max_iter": "n_estimators",
    "bootstrap": "replace",
    "bootstrap_features": "replace_features",
    "alpha": "quantile",
}

RESULTS = "PEER_SUITES_RESULTS"


def learners() -> Iterator[tuple[Any, str, type, type]]:
    """Each learner that both libraries have: scikit-learn's module, the name, its class and ours."""
    from sklearn import ensemble, tree

    import treewright

    for module in (tree, ensemble):
        for name in module.__all__:
            ours = getattr(treewright, name.replace("Hist", ""), None)
            if inspect.isclass(getattr(module, name, None)) and ours is not None:
                yield module, name, getattr(module, name), ours


def translated(theirs: type, ours: type) -> type:
    """A class that creates one of our learners from the arguments of scikit-learn's."""
    known = inspect.signature(theirs).parameters
    own = inspect.signature(ours).parameters

    class Shim(type(ours)):  # type: ignore[misc]
        def __call__(cls, *args: Any, **keywords: Any) -> Any:
            if cls is not shim:  # a class that derives from our learner has its names
                return super().__call__(*args, **keywords)
            given = inspect.signature(theirs).bind(*args, **keywords).arguments
            found = {}
            for name, value in given.items():
                if name in own:
                    found[name] = value
                elif name == "verbose":
                    found["progress"] = bool(value)
                elif RENAMED.get(name) in own:
                    found[RENAMED[name]] = value
                elif name != "early_stopping" and value != known[name].default:
                    found[name] = value
            if "train_score" in own:
                found["train_score"] = True  # which scikit-learn always records
                translate_stopping(given, found)
            return ours(**found)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, ours) if cls is shim else super().__instancecheck__(instance)

    shim = Shim(theirs.__name__, (ours,), {"__module__": theirs.__module__})
    return shim


def translate_stopping(given: Mapping[str, Any], found: dict[str, Any]) -> None:
    """Stop boosting early where scikit-learn does: there it is a choice of its own, here that of validation rows."""
    stops = given.get("early_stopping", given.get("n_iter_no_change"))
    if stops in (None, False, "auto"):
        found.pop("validation_fraction", None)
        if found.get("n_iter_no_change", 1) is None:
            found.pop("n_iter_no_change")
    elif found.get("validation_fraction") is None:
        found["validation_fraction"] = 0.1


def translate_names(ours: type) -> None:
    """Let `set_params` take scikit-learn's names, too, and a learner have them as attributes."""
    own, set_params = inspect.signature(ours).parameters, ours.set_params

    def renamed(self: Any, **parameters: Any) -> Any:
        names = {name: name if name in own else RENAMED.get(name, name) for name in parameters}
        return set_params(self, **{names[name]: value for name, value in parameters.items()})

    ours.set_params = renamed
    for name, own_name in RENAMED.items():
        if own_name in own and name not in own:
            setattr(ours, name, property(attrgetter(own_name)))


def pytest_configure(config: Any) -> None:
    """Put our learners in the place of scikit-learn's; pytest calls this before it imports the tests."""
    found = list(learners())
    for module, name, theirs, ours in found:
        setattr(module, name, translated(theirs, ours))
    for ours in {ours for *_, ours in found}:
        translate_names(ours)


def pytest_sessionfinish(session: Any) -> None:
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    results = {
        outcome: [[report.nodeid, _reason(report)] for report in terminal.stats.get(outcome, [])]
        for outcome in ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
    }
    Path(os.environ[RESULTS]).write_text(json.dumps(results), encoding="utf-8")


def _reason(report: Any) -> str:
    crash = getattr(getattr(report, "longrepr", None), "reprcrash", None)
    return " ".join(str(crash.message).split())[:300] if crash is not None else ""


def run(suite: str) -> dict[str, list[list[str]]]:
    """The outcomes of one suite, by kind."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        here = str(Path(__file__).parent)
        paths = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-m", "pytest", "-q", "-p", "peer_suites", "-p", "no:cacheprovider", "--tb=short"]
        subprocess.run(
            [*command, "--no-header", "-W", "ignore", "--rootdir", folder, "--pyargs", SUITES[suite]],
            # Threads of BLAS that wait for each other on a busy machine take longer than the work.
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths, RESULTS: str(results)},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            check=False,
        )
        return json.loads(results.read_text(encoding="utf-8"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", nargs="*", choices=[[], *SUITES], help="which suites; all without a name")
    parser.add_argument("--failures", type=Path, help="a file for the names and reasons of all failures")
    chosen = parser.parse_args()
    totals: Counter[str] = Counter()
    failures = []
    print(f"{'suite':<20}{'passed':>8}{'failed':>8}{'skipped':>9}")
    for suite in chosen.suites or SUITES:
        found = run(suite)
        counts = Counter({outcome: len(reports) for outcome, reports in found.items()})
        counts["failed"] += counts.pop("error")
        totals += counts
        failures += [f"{name}\t{reason}" for name, reason in [*found["failed"], *found["error"]]]
        print(f"{suite:<20}{counts['passed']:>8}{counts['failed']:>8}{counts['skipped']:>9}", flush=True)
    print(f"{'all':<20}{totals['passed']:>8}{totals['failed']:>8}{totals['skipped']:>9}")
    if chosen.failures is not None:
        chosen.failures.write_text("\n".join(failures) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
