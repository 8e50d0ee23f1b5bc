"""Install the plugin for opencode, and check it."""
