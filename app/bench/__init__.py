"""The benchmark: what drafting brings on this machine, measured with the models that are installed."""
