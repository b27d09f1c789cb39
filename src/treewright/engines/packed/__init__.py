"""Trees with one word per node, as forests and boosting keep them: walking and leaf masks."""
