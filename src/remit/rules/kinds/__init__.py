"""Rules for the content that each kind of result requires."""
