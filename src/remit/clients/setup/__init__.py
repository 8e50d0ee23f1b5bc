"""Install hooks for any client, and remove them."""
