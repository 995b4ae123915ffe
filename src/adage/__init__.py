"""ADAGE: proverbs of any language into a hard multiple-choice benchmark of analogical reasoning."""
