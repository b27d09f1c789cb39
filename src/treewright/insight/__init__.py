"""Why a tree decided so: the measures behind its splits."""
