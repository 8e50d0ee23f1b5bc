"""One subagent job, run durably."""

import os

# The library that speaks with models greets whoever looks with advice of its vendor's; a job's output is ours alone.
# All that imports it is in this package, so this comes first.
os.environ.setdefault("PYDANTIC_AI_NO_BANNER", "1")
