"""The loop that runs stages."""
