"""Scores audio with a model of the operator's choice, over HTTP."""

__version__ = "0.1.0"
