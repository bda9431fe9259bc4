"""What can be configured, where values come from and how they are saved."""
