"""lyrsvc finds lyrics for a music library and saves them beside the audio."""

__version__ = "0.1.0"
