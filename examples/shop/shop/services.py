"""What every handler is given: the database, the settings and the outside world."""

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path

from shop import catalog, storage
from shop.config import Settings
from shop.mail import Outbox
from shop.payments import Gateway, PracticeGateway

GOODS = Path(__file__).with_name("goods.csv")


@dataclass
class Shop:
    settings: Settings
    db: sqlite3.Connection
    gateway: Gateway = field(default_factory=PracticeGateway)
    outbox: Outbox = field(default_factory=Outbox)


def open_shop(settings: Settings) -> Shop:
    """Connect to the database; a new one is filled with the goods of goods.csv."""
    db = storage.connect(settings.database)
    if catalog.is_empty(db):
        catalog.import_goods(db, GOODS)
    return Shop(settings, db)
