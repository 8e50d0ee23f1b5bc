"""Digests of content. The module `hashlib` loads OpenSSL, and most runs need no digest."""

from __future__ import annotations


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 digest of data, in hexadecimal digits."""
    import hashlib  # late: see above

    return hashlib.sha256(data).hexdigest()
