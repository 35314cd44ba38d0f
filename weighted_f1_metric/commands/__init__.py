"""The commands `score`, `compare` and `stats`, and the files that they read and write."""
