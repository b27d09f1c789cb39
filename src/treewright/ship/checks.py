"""Checks of the values of a model file that kernels rely on, beyond those that the values make themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from treewright.encoding.bins import MAX_CODES, Bins
from treewright.ship.layout import ModelFileError
from treewright.table.column import Column
from treewright.tree import Target, Tree
from treewright.tree.forest import Forest
from treewright.tree.tree_list import TreeList

# The type and the number of dimensions of each array.
_TREE = {
    "kind": "u1",
    "column": "i4",
    "threshold": "f8",
    "first_child": "i4",
    "n_children": "i4",
    "missing_branch": "i4",
    "share": "f8",
    "set_start": "i8",
    "category_sets": "u8",
    "weight": "f8",
    "rows": "i8",
    "impurity": "f8",
    "gain": "f8",
}
_FOREST = {
    "nodes": "u8",
    "node_start": "i8",
    "node_set": "i4",
    "leaf_start": "i8",
    "leaf_weight": "f8",
    "leaf_rows": "u4",
    "leaf_value": "f8",
    "leaf_spread": "f8",
    "leaf_end": "i8",
    "entry_class": "u2",
    "entry_share": "f8",
}
_SURROGATES = {
    "column": "i4",
    "threshold": "f8",
    "low_branch": "i8",
    "high_branch": "i8",
    "map_start": "i8",
    "agreement": "f8",
}


def check_fields(name: str, found: Mapping[str, Any]) -> None:
    """Raise an error for fields of another kind than the value has; sizes are compared where the value does not."""
    check = _CHECKS.get(name)
    if check is not None and not check(found):
        raise ModelFileError(f"a {name} of the file has fields that do not fit together; the file is damaged")


def _is_array(value: Any, code: str, n_axes: int = 1) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == np.dtype(code) and value.ndim == n_axes


def _are_columns(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(column, Column) for column in value)


def _fits_tree(found: Mapping[str, Any]) -> bool:
    fits = all(_is_array(found[name], code) for name, code in _TREE.items())
    fits = fits and _is_array(found["distribution"], "f8", 2)
    fits = fits and _are_columns(found["columns"]) and isinstance(found["target"], Target)
    numbers = (found["weight"], found["impurity"], found["gain"], found["distribution"]) if fits else ()
    return fits and all(bool(np.isfinite(array).all()) for array in numbers)


def _fits_surrogates(found: Mapping[str, Any]) -> bool:
    lines = all(_is_array(found[name], code, 2) for name, code in _SURROGATES.items())
    shapes = {np.shape(found[name]) for name in _SURROGATES}
    return (
        lines and len(shapes) == 1 and _is_array(found["majority"], "f8") and len(found["majority"]) == shapes.pop()[0]
    )


def _fits_forest(found: Mapping[str, Any]) -> bool:
    fits = all(_is_array(found[name], code) for name, code in _FOREST.items())
    fits = fits and _is_array(found["sets"], "u8", 2) and _is_array(found["gains"], "f8", 2)
    fits = fits and _are_columns(found["columns"]) and isinstance(found["target"], Target)
    fits = fits and isinstance(found["bins"], Bins) and len(found["bins"].n_codes) == len(found["columns"])
    fits = fits and len(found["node_start"]) > 1 and len(found["leaf_start"]) > 1
    fits = fits and len(found["leaf_spread"]) in (0, len(found["leaf_value"]))
    return fits and all(bool(np.isfinite(found[name]).all()) for name in ("leaf_value", "leaf_weight", "entry_share"))


def _fits_bins(found: Mapping[str, Any]) -> bool:
    kinds = {
        "is_number": ("?", 1),
        "n_codes": ("i8", 1),
        "cuts": ("f8", 1),
        "cut_start": ("i8", 1),
        "code_values": ("f8", 2),
    }
    if not all(_is_array(found[name], *kind) for name, kind in kinds.items()):
        return False
    n_columns, starts = len(found["n_codes"]), found["cut_start"]
    sizes = np.diff(starts)
    return bool(
        len(found["is_number"]) == n_columns == len(starts) - 1 == len(found["code_values"])
        and starts[0] == 0
        and starts[-1] == len(found["cuts"])
        and (sizes >= 0).all()
        and (sizes <= MAX_CODES).all()
        and (found["n_codes"] >= 0).all()
        and (found["n_codes"] <= MAX_CODES + 1).all()
        and not np.isnan(found["cuts"]).any()
    )


def _fits_encoding(found: Mapping[str, Any]) -> bool:
    if not (_are_columns(found["columns"]) and isinstance(found["origin"], np.ndarray)):
        return False
    if found["origin"].dtype.kind != "i" or found["origin"].ndim != 1 or len(found["origin"]) != len(found["columns"]):
        return False
    tables = [found["means"], found["codes"]]
    return all(
        isinstance(table, dict)
        and all(isinstance(key, int) and isinstance(value, np.ndarray) for key, value in table.items())
        for table in tables
    )


def _fits_imputation(found: Mapping[str, Any]) -> bool:
    return _is_array(found["usual"], "f8") and isinstance(found["guesses"], tuple)


def _fits_target(found: Mapping[str, Any]) -> bool:
    outputs = found["outputs"]
    flat = isinstance(outputs, tuple) and all(isinstance(one, Target) and not one.outputs for one in outputs)
    return flat and isinstance(found["classes"], tuple) and isinstance(found["name"], str)


_CHECKS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "Tree": _fits_tree,
    "Surrogates": _fits_surrogates,
    "Forest": _fits_forest,
    "Bins": _fits_bins,
    "TargetEncoding": _fits_encoding,
    "Imputation": _fits_imputation,
    "Target": _fits_target,
}


def check_state(name: str, state: Mapping[str, Any]) -> None:
    """Raise an error for fitted attributes of another kind than estimators have under these names."""
    for attribute, fits in _ATTRIBUTES.items():
        if attribute in state and not fits(state[attribute]):
            raise ModelFileError(f"{attribute} of the {name} of the file has another type; the file is damaged")


def _is_line(value: Any, kinds: str = "fiu") -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in kinds


def _are_finite(value: Any) -> bool:
    return _is_line(value) and bool(np.isfinite(value).all())


def _are_classes(value: Any) -> bool:
    if isinstance(value, list):
        return all(one is None or _is_line(one, "OSUbiufM") for one in value)
    return _is_line(value, "OSUbiufM")


def _are_names(value: Any) -> bool:
    return _is_line(value, "OU") and all(isinstance(name, str) for name in value.tolist())


def _are_forests(value: Any) -> bool:
    # Imported models may have more thresholds than a byte can count; their trees are in lists.
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, Forest | TreeList) for one in value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


# Attributes that predictions of several learners are computed from.
_ATTRIBUTES: dict[str, Callable[[Any], bool]] = {
    "tree_": lambda value: isinstance(value, Tree),
    "forest_": lambda value: isinstance(value, Forest | TreeList),
    "forests_": _are_forests,
    "initial_": _are_finite,
    "weights_": _are_finite,
    "columns_": _are_columns,
    "target_": lambda value: isinstance(value, Target),
    "classes_": _are_classes,
    "feature_names_in_": _are_names,
    "n_features_in_": _is_whole,
    "n_estimators_": _is_whole,
}
