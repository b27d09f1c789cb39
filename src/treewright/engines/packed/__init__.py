"""Trees with one word per node, which forests and boosting share: descent by walking or by leaf masks."""
