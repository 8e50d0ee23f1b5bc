"""What programs may ask for, over the API and over MCP. Their paths and texts are not trusted."""
