"""The contract: the model of a result, its parser and its canonical form."""
