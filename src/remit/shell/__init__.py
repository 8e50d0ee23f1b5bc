"""What a command line reads, writes and runs. Standard library only."""
