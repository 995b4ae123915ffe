"""Pure functions on text: folding, scripts, segmentation, leakage, similarity."""
