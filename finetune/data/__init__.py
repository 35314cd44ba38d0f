"""From data files to rows and units: one reader a format, and what all of them give."""
