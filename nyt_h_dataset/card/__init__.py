"""What is said of the data: statistics, figures, verification, and the exported folder with its card."""
