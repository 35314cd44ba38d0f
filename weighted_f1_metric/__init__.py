"""Package weighted_f1_metric."""
