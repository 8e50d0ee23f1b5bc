"""Rules for confidence scores."""
