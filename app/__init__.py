"""Paceline: a private coding assistant on your own machine, sped up by lossless speculative decoding."""
