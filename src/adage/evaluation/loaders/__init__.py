"""Readers of benchmarks: our own folder, BIG-bench tasks, ePiC, and tables of multiple-choice questions."""
