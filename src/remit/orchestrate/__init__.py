"""Many subagents: delegate, correct, retry, fall back, escalate; phases, progress and the main job."""
