"""Install hooks for Copilot CLI, and check them."""
