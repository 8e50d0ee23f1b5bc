"""Rules about scores."""
