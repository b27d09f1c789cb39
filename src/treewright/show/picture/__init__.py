"""Pictures of trees: SVG, matplotlib, an interactive page, and the text of DOT and Mermaid."""

from treewright.show.picture.picture import TreePicture, plot_tree

__all__ = ["TreePicture", "plot_tree"]
