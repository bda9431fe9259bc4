"""The rules: no input, no output, no clock; everything a decision needs is handed in."""
