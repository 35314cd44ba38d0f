"""Figures of one system and of several."""
