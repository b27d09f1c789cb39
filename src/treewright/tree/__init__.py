"""Trees as values: checked, immutable arrays that can print, walk and describe themselves."""

from treewright.tree.tree import Node, SplitKind, Target, Test, Tree

__all__ = ["Node", "SplitKind", "Target", "Test", "Tree"]
