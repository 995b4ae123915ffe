"""Models: chat endpoints, embedded models, encoders, language identifiers, and scripted fakes."""
