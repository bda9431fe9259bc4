"""Listening: parts of a track are sampled with ffmpeg and handed to a classifier over HTTP."""
