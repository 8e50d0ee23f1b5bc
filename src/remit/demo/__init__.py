"""A recorded model, and the review of an example shop that it does."""
