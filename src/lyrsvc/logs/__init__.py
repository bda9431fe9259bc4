"""One logging set-up for every command."""
