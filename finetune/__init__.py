"""Package finetune."""
