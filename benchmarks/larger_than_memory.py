"""Boosting from Parquet files by a process with a limit on its memory, beside the fit in memory and XGBoost.

Each fit is a process of its own. The limit holds for the memory that the process allocates (RLIMIT_DATA). With
`--group` it is that of a control group, which also counts the pages of mapped files. Run: make bench-memory
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np

GROUPS = Path("/sys/fs/cgroup")
ROWS_OF_FILE = 1_000_000


def make_files(folder: Path, n_rows: int, n_columns: int) -> None:
    """Write the table in files of a million rows; files that exist are kept."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, n_rows, ROWS_OF_FILE)):
        path = folder / f"part-{number:03d}.parquet"
        if path.exists():
            continue
        size = min(ROWS_OF_FILE, n_rows - first)
        random = np.random.default_rng(number)
        X = random.normal(size=(size, n_columns)).astype(np.float32)
        signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) + random.normal(size=size)
        columns = {f"x{place}": X[:, place] for place in range(n_columns)}
        parquet.write_table(pa.table({**columns, "y": (signal > 0).astype(np.int8)}), path)


def fit(kind: str, folder: str, rounds: int) -> None:
    """Fit in this process, and print the seconds and the peaks of memory in gigabytes.

    Resident memory includes the pages of mapped files that are in memory.
    """
    allocated = [0.0]

    def watch() -> None:
        while True:
            allocated.append(memory_of("RssAnon"))
            time.sleep(0.05)

    threading.Thread(target=watch, daemon=True).start()
    start = time.perf_counter()
    if kind == "scan":
        import treewright

        model = treewright.GradientBoostingClassifier(n_estimators=rounds, random_state=0, growth="best")
        model.fit(treewright.scan(f"{folder}/*.parquet", directory=folder), "y")
    elif kind == "memory":
        import pyarrow.dataset as ds

        import treewright

        table = ds.dataset(folder, format="parquet").to_table()
        y = table["y"].to_numpy()
        X = np.column_stack([table[name].to_numpy() for name in table.column_names if name != "y"])
        del table
        start = time.perf_counter()
        treewright.GradientBoostingClassifier(n_estimators=rounds, random_state=0, growth="best").fit(X, y)
    else:
        fit_xgboost(folder, rounds)
    found = {"seconds": time.perf_counter() - start, "resident": memory_of("VmHWM"), "allocated": max(allocated)}
    print(json.dumps(found))


def memory_of(name: str) -> float:
    """An entry of the status of this process, in gigabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith(name))


def fit_xgboost(folder: str, rounds: int) -> None:
    import pyarrow.parquet as parquet
    import xgboost

    class Files(xgboost.DataIter):
        def __init__(self) -> None:
            self.paths, self.place = sorted(Path(folder).glob("*.parquet")), 0
            super().__init__(cache_prefix=str(Path(folder) / "xgboost"))

        def next(self, input_data):  # type: ignore[no-untyped-def]
            if self.place == len(self.paths):
                return False
            table = parquet.read_table(self.paths[self.place]).to_pandas()
            self.place += 1
            input_data(data=table.drop(columns="y"), label=table["y"])
            return True

        def reset(self) -> None:
            self.place = 0

    matrix = xgboost.ExtMemQuantileDMatrix(Files(), max_bin=256)
    options = {"objective": "binary:logistic", "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide"}
    xgboost.train({**options, "tree_method": "hist", "learning_rate": 0.1}, matrix, num_boost_round=rounds)


@contextmanager
def limited(gigabytes: float | None, in_group: bool):  # type: ignore[no-untyped-def]
    """A control group with a limit, or None if none is wanted or can be made."""
    group = None if gigabytes is None or not in_group else make_group(int(gigabytes * 1e9))
    try:
        yield group
    finally:
        if group is not None:
            group.rmdir()


def make_group(n_bytes: int) -> Path | None:
    """A new control group of version 1 or 2 with a limit, inside or beside that of this process; None without one."""
    for parent in places_for_groups():
        group = parent / f"treewright-{os.getpid()}"
        limit = group / ("memory.limit_in_bytes" if parent.is_relative_to(GROUPS / "memory") else "memory.max")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if limit.exists():  # else groups here have no limits of memory
                limit.write_text(str(n_bytes))
                return group
        except OSError:
            pass
        group.rmdir()
    return None


def places_for_groups() -> list[Path]:
    """Where this process may be able to make groups: version 1, then version 2."""
    entries = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    found = [Path(f"{GROUPS}/memory{path}") for _, controllers, path in entries if controllers == "memory"]
    for number, _, path in entries:
        if number == "0":
            # A group of version 2 that has processes cannot give its children limits.
            own = Path(f"{GROUPS}{path}")
            found += [own, own.parent] if own != GROUPS else [own]
    return [place for place in found if (place / "cgroup.procs").exists()]


def peak_of_group(group: Path) -> float:
    """The peak of the memory of a group, with the pages of its files, in gigabytes."""
    peak = next(group / name for name in ("memory.max_usage_in_bytes", "memory.peak") if (group / name).exists())
    return int(peak.read_text()) / 1e9


def run(kind: str, folder: Path, rounds: int, gigabytes: float | None, in_group: bool) -> dict[str, float]:
    """Fit in a new process with a limit."""
    with limited(gigabytes, in_group) as group:

        def prepare() -> None:
            if group is not None:
                (group / "cgroup.procs").write_text(str(os.getpid()))
            elif gigabytes is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (int(gigabytes * 1e9),) * 2)

        command = [sys.executable, __file__, "--fit", kind, "--folder", str(folder), "--trees", str(rounds)]
        found = subprocess.run(command, preexec_fn=prepare, capture_output=True, text=True)
        if found.returncode:
            print(found.stderr.splitlines()[-1:] or "killed", "exit", found.returncode)
            return {}
        result = json.loads(found.stdout.splitlines()[-1])
        if group is not None:
            result["group"] = peak_of_group(group)
        return result


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--limit", type=float, default=2.5, help="gigabytes")
    parser.add_argument("--folder", default=str(Path(tempfile.gettempdir()) / "treewright-larger-than-memory"))
    parser.add_argument("--kinds", default="scan,memory,xgboost")
    parser.add_argument("--group", action="store_true", help="limit the memory by a control group")
    parser.add_argument("--fit", default="")
    given = parser.parse_args()
    if given.fit:
        fit(given.fit, given.folder, given.trees)
        return
    folder = Path(given.folder)
    make_files(folder, given.rows, given.columns)
    size = sum(path.stat().st_size for path in folder.glob("*.parquet")) / 1e9
    print(f"{given.rows:,} x {given.columns} float32 in {size:.1f} GB of Parquet, {given.trees} trees of 31 leaves")
    limits = {"scan": given.limit or None, "memory": None, "xgboost": None}
    for kind in given.kinds.split(","):
        print(f"  {kind:<8} limit {limits[kind] or 'none'}", end="  ", flush=True)
        print(
            {name: round(value, 2) for name, value in run(kind, folder, given.trees, limits[kind], given.group).items()}
        )


if __name__ == "__main__":
    main()
