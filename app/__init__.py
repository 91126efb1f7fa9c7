"""Paceline: a private coding assistant on your own machine, sped up by lossless speculative decoding."""

__version__ = "0.1.0"
