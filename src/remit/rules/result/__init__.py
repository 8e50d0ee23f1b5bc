"""Rules about the document as a whole."""
