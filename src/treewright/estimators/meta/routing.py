"""Metadata routing of scikit-learn: what `fit` hands on to the members beside rows, target and weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils._metadata_requests import _routing_enabled
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params

from treewright.estimators.equivalents import EQUIVALENTS, explain_name


def routes_metadata() -> bool:
    """Whether the user has enabled metadata routing with `sklearn.set_config(enable_metadata_routing=True)`."""
    return bool(_routing_enabled()) and bool(get_config()["enable_metadata_routing"])


def check_metadata(learner: Any, method: str, metadata: Mapping[str, Any], known: list[str]) -> None:
    """Refuse keywords of a method that are neither arguments nor metadata."""
    if not metadata or routes_metadata():
        return
    name = next(iter(metadata))
    if method in EQUIVALENTS and name in EQUIVALENTS[method]:
        raise TypeError(explain_name(type(learner).__name__, method, name, known))
    raise ValueError(
        f"{type(learner).__name__}.{method} has no argument {name!r}; handing it to the members is only supported if "
        "enable_metadata_routing=True, which sklearn.set_config sets"
    )


def route_to_member(learner: Any, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata that the estimator of a learner requests for its `fit`; an error for what nobody requests."""
    if not metadata:
        return {}
    return dict(process_routing(learner, "fit", **metadata).estimator.fit)


def route_prediction(learner: Any, method: str, metadata: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The metadata of a prediction that the estimator of a learner requests, by its method."""
    check_metadata(learner, method, metadata, [])
    found = process_routing(learner, method, **metadata).estimator
    return {callee: dict(options) for callee, options in found.items()}


def take_metadata(X: Any, metadata: Mapping[str, Any], rows: np.ndarray) -> dict[str, Any]:
    """The metadata of some rows; values that do not have one entry per row stay what they are."""
    return dict(_check_method_params(X, params=dict(metadata), indices=rows)) if metadata else {}


def fit_router(learner: Any, members: Mapping[str, Any]) -> MetadataRouter:
    """A router that hands metadata of `fit` to the `fit` of the members."""
    router = MetadataRouter(owner=learner)
    for name, member in members.items():
        if not isinstance(member, str):
            router.add(**{name: member}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    return router
