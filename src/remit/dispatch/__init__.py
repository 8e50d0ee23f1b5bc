"""Run one subagent job durably."""

import os

# Disable the banner that the model library prints, because it would be mixed into a job's output. Everything that
# imports the library is in this package, so this runs first.
os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
