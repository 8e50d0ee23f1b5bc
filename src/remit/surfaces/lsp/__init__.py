"""The language server: documents are verified in an editor."""
