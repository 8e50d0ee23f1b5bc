"""Publish a merge where people review code."""
