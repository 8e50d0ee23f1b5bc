"""The MCP server: the contract as tools and resources of an assistant."""
