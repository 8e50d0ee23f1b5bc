"""Tells one text from another, without OpenSSL: `hashlib` loads it first, which takes longer than many digests."""

from __future__ import annotations

import sys


def digest(data: bytes) -> str:
    """The first half of the SHA-256, in hexadecimal."""
    try:
        lean = __import__("_sha2" if sys.version_info >= (3, 12) else "_sha256")
    except ImportError:  # a Python that was built without its own
        import hashlib as lean
    return str(lean.sha256(data).hexdigest())[:32]
