"""A scratch database with a week of work, so that a newcomer sees every page with content."""
