"""Everything on the user's disk: audio is read, sidecars are written."""
