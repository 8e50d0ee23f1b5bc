"""What looks like a secret is not stored: it is replaced before a tool's output is written down or sent on."""

from __future__ import annotations

import re

#: What it is -> how it looks. Each pattern is linear: no repetition inside a repetition.
PATTERNS: dict[str, re.Pattern[str]] = {
    # Its end may be missing: output is cut, and files are read in part.
    "private key": re.compile(
        r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[^-]{1,20000}(?:-----END [A-Z ]{0,30}PRIVATE KEY-----)?"
    ),
    "Anthropic key": re.compile(r"\bsk-ant-[A-Za-z0-9_-]{20,200}"),
    "OpenAI key": re.compile(r"\bsk-(?:proj-)?[A-Za-z0-9_-]{32,200}"),
    "GitHub token": re.compile(r"\b(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{40,255})"),
    "AWS key": re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    "Google key": re.compile(r"\bAIza[A-Za-z0-9_-]{35}\b"),
    "Slack token": re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,250}"),
    "JSON web token": re.compile(r"\beyJ[A-Za-z0-9_-]{10,2000}\.eyJ[A-Za-z0-9_-]{10,4000}\.[A-Za-z0-9_-]{10,1000}"),
    "password in a URL": re.compile(r"(?<=://)[^\s/:@]{1,100}:[^\s/:@]{3,200}(?=@)"),
}


def redacted(text: str) -> str:
    """The text with each secret replaced by what it was."""
    for name, pattern in PATTERNS.items():
        text = pattern.sub(f"[{name} removed]", text)
    return text
