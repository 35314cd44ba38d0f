"""What nobody judged: bounds of MAGT over all possible answers, and estimates from a judged sample."""
