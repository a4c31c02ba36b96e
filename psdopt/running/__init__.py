"""One run: its start, its loop, its limits, how it ends, and its record."""
