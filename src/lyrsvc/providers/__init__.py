"""Where lyrics come from: the built-in lanes, and the door for lanes of others."""
