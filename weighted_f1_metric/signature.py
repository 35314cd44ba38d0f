"""Placeholder so that the version resolves."""
VERSION = "0.1.0"
