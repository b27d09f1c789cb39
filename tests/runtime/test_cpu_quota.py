"""CPU quotas of control groups, read from files as Linux writes them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from treewright.runtime.cpu_quota import cpu_quota


@pytest.fixture
def linux(tmp_path: Path):
    """A function that writes the files of a Linux system: the groups of the process, and other files by path."""

    def write(groups: str, files: dict[str, str]) -> Path:
        for name, text in {"proc/self/cgroup": groups, **files}.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def v1(folder: str, quota: int, period: int = 100_000) -> dict[str, str]:
    return {f"{folder}/cpu.cfs_quota_us": f"{quota}\n", f"{folder}/cpu.cfs_period_us": f"{period}\n"}


def test_a_container_of_version_2_has_its_quota_at_the_root(linux) -> None:
    assert cpu_quota(linux("0::/\n", {"sys/fs/cgroup/cpu.max": "150000 100000\n"})) == 1.5


def test_a_quota_of_max_is_no_limit(linux) -> None:
    assert cpu_quota(linux("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000\n"})) == math.inf


def test_the_smallest_quota_of_a_group_and_those_above_it_counts(linux) -> None:
    files = {
        "sys/fs/cgroup/batch.slice/cpu.max": "200000 100000\n",
        "sys/fs/cgroup/batch.slice/job.scope/cpu.max": "300000 100000\n",
        "sys/fs/cgroup/other.slice/cpu.max": "50000 100000\n",
    }
    assert cpu_quota(linux("0::/batch.slice/job.scope\n", files)) == 2.0


def test_a_container_of_version_1_finds_its_quota_although_the_name_of_its_group_is_that_of_the_host(linux) -> None:
    groups = "5:memory:/docker/4f2a\n4:cpu,cpuacct:/docker/4f2a\n"
    assert cpu_quota(linux(groups, v1("sys/fs/cgroup/cpu,cpuacct", 50_000))) == 0.5


def test_a_group_of_version_1_next_to_version_2(linux) -> None:
    groups = "1:cpu:/batch\n0::/\n"
    assert cpu_quota(linux(groups, v1("sys/fs/cgroup/cpu/batch", 75_000, 25_000))) == 3.0


def test_a_quota_of_minus_one_is_no_limit_in_version_1(linux) -> None:
    assert cpu_quota(linux("1:cpu:/\n", v1("sys/fs/cgroup/cpu", -1))) == math.inf


@pytest.mark.parametrize("groups", ["0::/../..\n", "3:cpuset:/\n", ""])
def test_groups_without_a_readable_quota_are_no_limit(linux, groups: str) -> None:
    assert cpu_quota(linux(groups, {})) == math.inf


def test_a_system_without_control_groups_has_no_limit(tmp_path: Path) -> None:
    assert cpu_quota(tmp_path) == math.inf
