"""A recorded model, and the work on an example shop that it does: one review, or a week."""
