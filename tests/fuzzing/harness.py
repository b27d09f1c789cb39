"""Runs the cases of a fuzzer: each ends within its time and memory, with a result or an error of one sentence."""

from __future__ import annotations

import collections
import faulthandler
import json
import os
import random
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

# Seconds of one case, bytes of address space that the cases may add, and bytes of memory that they may keep.
MOST_SECONDS = 120.0
MOST_SPACE = 6 << 30
MOST_MEMORY = 1 << 30

LONGEST_SENTENCE = 700


class UnclearError(AssertionError):
    """An error that is not one sentence for the user."""


def sentence_of(error: BaseException) -> str:
    """The message of an error for the user, which must be one line."""
    message = str(error)
    if not message.strip() or "\n" in message or len(message) > LONGEST_SENTENCE:
        raise UnclearError(f"{type(error).__name__}: {message[:LONGEST_SENTENCE]!r}") from error
    return message


def run_cases(case: Callable[[random.Random], str], first: int, count: int) -> dict[str, int]:
    """Run cases by their numbers, which are the seeds; prints progress, and ends the process with 1 for failures."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    _limit_space()
    outcomes: collections.Counter[str] = collections.Counter()
    failed, last_report = [], time.monotonic()
    # A crash leaves this file, with the number of its case.
    current = Path(tempfile.gettempdir()) / f"treewright-fuzzing-{os.getpid()}"
    for number in range(first, first + count):
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        current.write_text(str(number))
        try:
            outcomes[case(random.Random(number))] += 1
        except Exception:
            failed.append(number)
            print(f"case {number} failed:\n{traceback.format_exc(limit=-6)[-3000:]}", flush=True)
            if len(failed) >= 20:
                break
        if time.monotonic() - last_report > 10.0:
            last_report = time.monotonic()
            print(f"{number - first + 1} of {count}: {dict(outcomes)}, failed {failed}", file=sys.stderr, flush=True)
    faulthandler.cancel_dump_traceback_later()
    current.unlink(missing_ok=True)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    print(json.dumps({"outcomes": dict(outcomes), "failed": failed, "grown": grown}))
    if failed or grown > MOST_MEMORY:
        sys.exit(1)
    return dict(outcomes)


def _limit_space() -> None:
    sizes = Path("/proc/self/statm")
    if not sizes.exists():
        return
    used = int(sizes.read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MOST_SPACE, used + MOST_SPACE))


def main(case: Callable[[random.Random], str]) -> None:
    run_cases(case, int(sys.argv[1]), int(sys.argv[2]))
