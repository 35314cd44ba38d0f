"""From checked settings to trained seeds in an output folder."""
