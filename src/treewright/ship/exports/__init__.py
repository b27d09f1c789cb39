"""Models as programs in other languages."""

from treewright.ship.exports.export import FORMATS, export

__all__ = ["FORMATS", "export"]
