"""Read SARIF files."""
