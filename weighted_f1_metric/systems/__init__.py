"""What systems say that know nothing of NYT-H, and what it is worth on rows of the negative relation."""
