"""Model files: models kept for years, and loaded without running code from the file."""

from treewright.ship.model_file import ModelFileError, describe_file, digest_of_model, is_model_file, load, save

__all__ = ["ModelFileError", "describe_file", "digest_of_model", "is_model_file", "load", "save"]
