"""Settings, read from the environment once at the start."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field


def _fresh_key() -> bytes:
    return secrets.token_bytes(32)


@dataclass(frozen=True)
class Settings:
    host: str = "127.0.0.1"
    port: int = 8000
    database: str = ":memory:"
    page_size: int = 6
    # Without a configured key no outside party can sign a webhook, which is the safe default.
    webhook_key: bytes = field(default_factory=_fresh_key, repr=False)


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Build the settings; every variable is optional."""
    key = environment.get("SHOP_WEBHOOK_KEY")
    return Settings(
        host=environment.get("SHOP_HOST", "127.0.0.1"),
        port=int(environment.get("SHOP_PORT", "8000")),
        database=environment.get("SHOP_DATABASE", ":memory:"),
        page_size=int(environment.get("SHOP_PAGE_SIZE", "6")),
        webhook_key=key.encode() if key else _fresh_key(),
    )
