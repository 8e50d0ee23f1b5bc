"""Rules about whether the claims hold."""
