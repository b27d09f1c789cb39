"""How many examples a property is tested with."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

FULL_MAX_EXAMPLES = settings.get_profile("full").max_examples


def examples(count: int, **choices: Any) -> settings:
    """Test a property with `count` examples when a file of tests is run by itself.

    `make test` draws half of them, `make test-fast` a quarter, and `make soak` ten times as many.
    """
    return settings(max_examples=max(1, count * settings.default.max_examples // FULL_MAX_EXAMPLES), **choices)
