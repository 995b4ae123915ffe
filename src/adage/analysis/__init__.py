"""Statistics of a benchmark and of the answers given to it."""
