"""What the service does: journeys that join the rules with store, files and lanes."""
