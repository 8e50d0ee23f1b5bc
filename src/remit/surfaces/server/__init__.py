"""The server of `remit serve`: pages, live updates and the API. It makes no decisions."""
