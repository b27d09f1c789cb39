"""Why a model predicts what it predicts for one row: the path, the vote, the contributions of the columns."""
