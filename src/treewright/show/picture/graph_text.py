"""A tree as the text of DOT (Graphviz) and of Mermaid, for other programs to draw."""

from __future__ import annotations

from treewright.show.picture.view import NodeView, TreeView
from treewright.show.picture.words import clean


def write_dot(view: TreeView) -> str:
    """The tree in the DOT language."""
    lines = [
        "digraph tree {",
        '  node [shape=box, style=rounded, fontname="Helvetica"];',
        '  edge [fontname="Helvetica"];',
    ]
    for node in view.nodes:
        shape = "" if node.is_leaf else ', style=""'
        bold = ", penwidth=3" if view.follows and node.path > 0.0 else ""
        label = "\\n".join(_quote_dot(line) for line in (node.title, *node.lines))
        lines.append(f'  n{node.index} [label="{label}"{shape}{bold}];')
        if node.parent >= 0:
            width = 1.0 + 4.0 * node.share
            start = view.nodes[node.parent].index
            lines.append(f'  n{start} -> n{node.index} [label="{_quote_dot(node.branch)}", penwidth={width:.2f}];')
    return "\n".join([*lines, "}\n"])


def _quote_dot(text: str) -> str:
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')


def write_mermaid(view: TreeView) -> str:
    """The tree as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for node in view.nodes:
        lines.append(f"  n{node.index}{_mermaid_box(node)}")
        if node.parent >= 0:
            lines.append(f'  n{view.nodes[node.parent].index} -->|"{_quote_mermaid(node.branch)}"| n{node.index}')
    marked = [f"n{node.index}" for node in view.nodes if view.follows and node.path > 0.0]
    lines += ["  classDef path stroke:#000,stroke-width:3px", f"  class {','.join(marked)} path"] if marked else []
    return "\n".join(lines) + "\n"


def _mermaid_box(node: NodeView) -> str:
    label = "<br/>".join(_quote_mermaid(line) for line in (node.title, *node.lines))
    return f'(["{label}"])' if node.is_leaf else f'["{label}"]'


def _quote_mermaid(text: str) -> str:
    """Letters with a meaning in Mermaid or HTML as entities, which Mermaid writes with `#`."""
    marks = {letter: f"#{ord(letter)};" for letter in '"<>&#;`\\[](){}|'}
    return "".join(marks.get(letter, letter) for letter in clean(text)) or " "
