"""The layer that runs the kernels, independent of trees: compilation, threads, the barrier, random draws."""
