"""Rules for the document as a whole."""
