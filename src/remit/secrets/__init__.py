"""Recognise secrets: in text (`scan`, by the rules of `secret_kinds` and of gitleaks) and in the environment."""
