"""Verdicts and rules in the forms that people and tools read; pure functions of data."""
