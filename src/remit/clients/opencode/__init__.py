"""opencode: translate the events of Remit's plugin, and install it."""
