from __future__ import annotations

from support.fleet_fixtures import fleet, model, postgres, source

__all__ = ["fleet", "model", "postgres", "source"]
