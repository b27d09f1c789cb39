"""Digests of model files: two models with the same digest are the same to the bit."""

from __future__ import annotations

import hashlib
import os
from typing import Any
from unittest.mock import patch

import treewright


def digest_of(model: Any) -> str:
    """The SHA-256 of the file of a model, written at a fixed time."""
    with patch.dict(os.environ, SOURCE_DATE_EPOCH="0"):
        return hashlib.sha256(treewright.save(model)).hexdigest()
