"""What keeps secrets secret: the vault and its key."""
