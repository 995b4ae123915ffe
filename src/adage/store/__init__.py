"""What is kept on disk: run folders, the call journal, vectors."""
