"""A tree as indented text, in the layout of Weka's J48."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from treewright.tree import Node, SplitKind, Tree
from treewright.tree.tree import Arriving

if TYPE_CHECKING:
    from treewright.show.picture import TreePicture


def show(
    model: Any,
    file: TextIO | str | None = None,
    *,
    max_depth: int | None = None,
    max_categories: int | None = 6,
    missing: bool = False,
) -> TreePicture | None:
    """Print the tree of a fitted learner as text, or return its picture.

    Parameters
    ----------
    model : a fitted learner, or a `Tree`.
    file : where to print, the screen by default ("text"). Or the form of a picture, which is returned: "html" is an
        interactive page, and "tree", "icicle", "dot" and "mermaid" are forms of `plot_tree`.
    max_depth : show this many levels of splits and count the leaves below, None for all.
    max_categories : how many categories of a long set are written out, None for all.
    missing : also mark the branch that a row follows whose value is missing, or the fraction of it.

    >>> from treewright import ID3Classifier, show
    >>> sky = ["sunny", "overcast", "rainy", "rainy"]
    >>> wind = ["weak", "weak", "weak", "strong"]
    >>> play = ["no", "yes", "yes", "no"]
    >>> model = ID3Classifier().fit({"outlook": sky, "wind": wind}, play)
    >>> show(model)
    outlook = sunny: no (1.0)
    outlook = overcast: yes (1.0)
    outlook = rainy
    |   wind = weak: yes (1.0)
    |   wind = strong: no (1.0)
    <BLANKLINE>
    Number of leaves: 4
    Size of the tree: 6
    >>> show(model, missing=True, max_depth=1)
    outlook = sunny: no (1.0)
    outlook = overcast: yes (1.0)
    outlook = rainy (or missing): ... (2 leaves)
    <BLANKLINE>
    Number of leaves: 4
    Size of the tree: 6
    """
    stream = None if file == "text" else file
    if isinstance(stream, str):
        from treewright.show.picture import plot_tree

        return plot_tree(model, form=stream, max_depth=max_depth)
    tree = tree_of(model)
    print(draw(tree, max_depth=max_depth, max_categories=max_categories, missing=missing), file=stream)
    return None


def draw(tree: Tree, *, max_depth: int | None = None, max_categories: int | None = 6, missing: bool = False) -> str:
    """The tree as text: a line per branch, and at a leaf its prediction with the weight of rows and of errors.

    Parameters
    ----------
    tree : the tree of a fitted learner, its `tree_`.
    max_depth : show this many levels of splits and count the leaves below, None for all.
    max_categories : how many categories of a long set are written out, None for all.
    missing : also mark the branch that a row follows whose value is missing.

    >>> from treewright import ID3Classifier
    >>> sky = ["sunny", "overcast", "rainy", "rainy"]
    >>> wind = ["weak", "weak", "weak", "strong"]
    >>> play = ["no", "yes", "yes", "no"]
    >>> model = ID3Classifier().fit({"outlook": sky, "wind": wind}, play)
    >>> print(draw(model.tree_, max_depth=1))
    outlook = sunny: no (1.0)
    outlook = overcast: yes (1.0)
    outlook = rainy: ... (2 leaves)
    <BLANKLINE>
    Number of leaves: 4
    Size of the tree: 6
    """
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth is a number of levels, 0 or more, not {max_depth}")
    if max_categories is not None and max_categories < 1:
        raise ValueError(f"max_categories is how many to write, 1 or more, not {max_categories}")
    lines = list(_lines(tree, max_depth, max_categories, missing))
    lines += ["", f"Number of leaves: {tree.n_leaves}", f"Size of the tree: {tree.n_nodes}"]
    lines += [] if tree.own_criterion is None else [f"Criterion: {tree.own_criterion}"]
    return "\n".join(lines)


def tree_of(model: Any) -> Tree:
    """The tree inside a fitted learner; a tree is its own."""
    tree = model if isinstance(model, Tree) else getattr(model, "tree_", None)
    if isinstance(tree, Tree):
        return tree
    if _is_unfitted_learner(model):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"this {type(model).__name__} has no tree yet; call its fit method first")
    if len(getattr(model, "forests_", ())):
        raise TypeError(
            f"{type(model).__name__} has many trees; show one of them, as in show(model.forests_[0][0]), "
            "which has the first output and the first round"
        )
    if len(getattr(model, "estimators_", ())):
        raise TypeError(f"{type(model).__name__} has many trees; show one of them, as in show(model.estimators_[0])")
    raise TypeError(f"this needs a fitted treewright learner or a Tree, not {_describe(model)}")


def _is_unfitted_learner(model: Any) -> bool:
    if isinstance(model, type) or not hasattr(model, "fit"):
        return False
    # Imported here because scikit-learn takes longer to load than a tree takes to print.
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return True
    except TypeError:
        return False
    return False


def _describe(model: Any) -> str:
    return f"the class {model.__name__}" if isinstance(model, type) else f"a value of type {type(model).__name__}"


def _lines(tree: Tree, max_depth: int | None, max_categories: int | None, missing: bool) -> Iterator[str]:
    """One line per branch in reading order; walks a list of its own, so any depth of tree can be drawn."""
    deepest = tree.depth if max_depth is None else max_depth
    below = leaves_below(tree)
    nothing: Arriving = {}
    waiting = [(tree.root, "", nothing)]
    while waiting:
        node, branch, arriving = waiting.pop()
        cut = not node.is_leaf and node.depth >= deepest
        ending = f": ... ({below[node.index]} leaves)" if cut else f": {node}" if node.is_leaf else ""
        if branch or ending:
            yield "|   " * (node.depth - 1) + branch + ending
        if not cut:
            waiting += reversed(list(branches_of(node, arriving, max_categories, missing)))


def branches_of(
    node: Node, arriving: Arriving, max_categories: int | None, missing: bool
) -> Iterator[tuple[Node, str, Arriving]]:
    """The children of a node with the words of the branch to each, and the categories that can arrive there."""
    branches = zip(node.tests_of(arriving), node.children, node.arriving_below(arriving), strict=True)
    for branch, (test, child, remaining) in enumerate(branches):
        words = f"{test.column.name} {test.relation} {test.write_operand(max_categories)}".rstrip()
        if missing and node.missing_branch < 0:
            words += f" (and {child.share:.2g} of missing)"
        elif missing and branch == node.missing_branch and test.relation != "is missing":
            words += " (or missing)"
        yield child, words, remaining


def leaves_below(tree: Tree) -> np.ndarray:
    """Number of leaves at or under each node; children come after their parent, so one backward pass is enough."""
    leaves = (tree.kind == SplitKind.LEAF).astype(np.int64)
    for node in range(tree.n_nodes - 1, 0, -1):
        leaves[tree.parent[node]] += leaves[node]
    return leaves
