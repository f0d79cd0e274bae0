"""swarmd: planning for a home without anyone in charge."""

__version__ = "0.1.0"
