"""Models of other libraries as models of treewright."""

from treewright.ship.imports.import_model import import_model

__all__ = ["import_model"]
