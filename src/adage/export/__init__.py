"""What a finished run hands on: the benchmark folder and its data card."""
