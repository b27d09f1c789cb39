"""What runs the kernels and knows nothing of trees: compilation, threads, the barrier, random draws."""
