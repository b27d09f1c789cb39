"""A tree under the names that the trees of scikit-learn have, for code that walks through `tree_`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.table.sparse import SparseValues, is_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# The child and the column of a leaf, as scikit-learn marks them.
NO_CHILD, NO_COLUMN = -1, -2


class ScikitNames:
    """Properties of a tree by the names of `sklearn.tree._tree.Tree`.

    `threshold`, `impurity` and `n_leaves` have the same name and meaning; the threshold of a leaf is NaN. `value` has a
    line per node and a column per class. A row goes to the left child if its value is at most the threshold; a split on
    categories has no threshold.

    >>> from treewright import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "b"]).tree_
    >>> tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist()
    ([1, -1, -1], [2, -1, -1], [0, -2, -2])
    """

    @property
    def n_outputs(self: Any) -> int:
        """The number of targets."""
        return len(self.target.outputs) or 1

    @property
    def node_count(self: Any) -> int:
        return int(self.n_nodes)

    @property
    def max_depth(self: Any) -> int:
        return int(self.depth)

    @property
    def n_features(self: Any) -> int:
        return len(self.columns)

    @property
    def n_classes(self: Any) -> np.ndarray:
        """The number of classes of each target, 1 for numbers."""
        outputs = self.target.outputs or (self.target,)
        return np.array([len(output.classes) or 1 for output in outputs])

    @property
    def children_left(self: Any) -> np.ndarray:
        """The first child of each node, -1 at a leaf."""
        return _child(self, 0)

    @property
    def children_right(self: Any) -> np.ndarray:
        """The second child of each node, -1 at a leaf."""
        return _child(self, 1)

    @property
    def feature(self: Any) -> np.ndarray:
        """The column that each node tests, -2 at a leaf."""
        return np.where(self.n_children > 0, self.column, NO_COLUMN).astype(np.int64)

    @property
    def n_node_samples(self: Any) -> np.ndarray:
        """The number of training rows at each node."""
        return np.asarray(self.rows)

    @property
    def weighted_n_node_samples(self: Any) -> np.ndarray:
        """The weight of the training rows at each node."""
        return np.asarray(self.weight)

    def apply(self: Any, X: Any) -> np.ndarray:
        """The node where each row of a matrix of numbers ends."""
        from treewright.tree.descent import leaves_of

        return leaves_of(self, _matrix(X))

    def predict(self: Any, X: Any) -> np.ndarray:
        """The class probabilities, or the number, for each row of a matrix of numbers."""
        from treewright.tree.descent import predictions_of

        return predictions_of(self, _matrix(X))

    def decision_path(self: Any, X: Any) -> csr_matrix:
        """The nodes on the path of each row of a matrix of numbers: a sparse matrix of rows by nodes."""
        from treewright.tree.descent import paths_to

        return paths_to(self, self.apply(X))


def _matrix(X: Any) -> Any:
    return SparseValues.of(X) if is_sparse(X) else np.asarray(X, dtype=np.float64)


def _child(tree: Any, number: int) -> np.ndarray:
    if tree.n_children.max(initial=0) > 2:
        raise AttributeError("the tree has splits with more than two branches; see first_child and n_children")
    return np.where(tree.n_children > 0, tree.first_child + number, NO_CHILD).astype(np.int64)
