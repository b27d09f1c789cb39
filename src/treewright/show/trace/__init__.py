"""The worked trace for people to read: as text, HTML, Markdown and LaTeX."""

from treewright.show.trace.trace import Trace, trace

__all__ = ["Trace", "trace"]
