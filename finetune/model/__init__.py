"""What travels with a saved model: flat, with relative imports only."""
