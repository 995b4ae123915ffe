"""Evaluation of models on a benchmark."""
