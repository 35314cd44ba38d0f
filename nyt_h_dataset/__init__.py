"""Package nyt_h_dataset."""
