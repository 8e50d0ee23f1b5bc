"""The server of `remit serve`: pages, live updates, the API and hooks over HTTP. It makes no decisions."""
