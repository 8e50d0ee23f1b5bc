"""Many results, one answer: deduplicated, agreement counted, disagreement shown."""
