"""Where Remit meets the world. No decisions here."""
