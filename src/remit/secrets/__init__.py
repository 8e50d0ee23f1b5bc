"""Recognise secrets: in text (`scan`, by the rules of `kinds` and of gitleaks) and in the environment."""
