"""Understanding of tables and models: measures, importances, diversity, scores and column summaries."""
