"""Measurements of speed and memory, each against a named peer in one run."""
