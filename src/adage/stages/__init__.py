"""The stages of the pipeline, a module each."""
