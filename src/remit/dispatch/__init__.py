"""One subagent job, run durably."""
