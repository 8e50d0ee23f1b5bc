"""Install hooks for Codex, and check them."""
