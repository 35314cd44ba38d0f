"""Who is better, and how sure it is: over runs, and over bags."""
