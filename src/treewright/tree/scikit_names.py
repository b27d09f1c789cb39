"""A tree under the names that the trees of scikit-learn have, for code that walks through `tree_`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treewright.table.sparse import SparseValues, is_sparse

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# The child, the column and the threshold of a leaf, as scikit-learn marks them.
NO_CHILD, NO_COLUMN, NO_THRESHOLD = -1, -2, -2.0


class ScikitNames:
    """Properties of a tree by the names of `sklearn.tree._tree.Tree`.

    `threshold`, `impurity` and `n_leaves` have the same name and meaning. A row goes to the left child if its value is
    at most the threshold; a split on categories has no threshold.

    >>> from treewright import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[1.0], [2.0], [3.0]], ["a", "b", "b"]).tree_
    >>> tree.children_left.tolist(), tree.children_right.tolist(), tree.feature.tolist()
    ([1, -1, -1], [2, -1, -1], [0, -2, -2])
    >>> tree.threshold.tolist(), tree.value[2].tolist()
    ([1.5, -2.0, -2.0], [[0.0, 1.0]])
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
    def max_n_classes(self: Any) -> int:
        """The largest number of classes of a target."""
        return int(self.n_classes.max())

    @property
    def capacity(self: Any) -> int:
        """The number of nodes that there is memory for: a finished tree has no more than it needs."""
        return int(self.n_nodes)

    @property
    def value(self: Any) -> np.ndarray:
        """What each node predicts, by node, target and class; 0 for classes that a target does not have.

        `predictions` has the same figures with one line per node.
        """
        if not self.target.outputs:
            return np.asarray(self.predictions)[:, None, :]
        found = np.zeros((self.n_nodes, self.n_outputs, self.max_n_classes))
        for output, place in enumerate(self.target.places):
            entries = self.predictions[:, place]
            found[:, output, : entries.shape[1]] = entries
        return found

    @property
    def missing_go_to_left(self: Any) -> np.ndarray:
        """Whether a row with a missing value goes from each node to the left child."""
        return (self.n_children > 0) & (self.missing_branch == 0)

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

    def compute_feature_importances(self: Any, normalize: bool = True) -> np.ndarray:
        """The decrease of the impurity by the splits of each column, or its fraction in that of all columns."""
        from treewright.tree.tree_list import gains_of

        by_column = gains_of(self) / self.weight[0]
        total = by_column.sum()
        return by_column / total if normalize and total > 0.0 else by_column

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
