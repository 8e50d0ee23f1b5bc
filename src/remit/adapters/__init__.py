"""One module for each agent framework: it checks the answer of an agent and sends the correction back once."""
