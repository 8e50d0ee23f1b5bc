"""Serve the shop: python -m shop."""

import logging
import os
from wsgiref.simple_server import make_server

from shop import config
from shop.app import Application
from shop.services import open_shop


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    settings = config.from_environment(os.environ)
    application = Application(open_shop(settings))
    with make_server(settings.host, settings.port, application) as server:
        print(f"Shop is open at http://{settings.host}:{server.server_port}")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Shop is closed")


if __name__ == "__main__":
    main()
