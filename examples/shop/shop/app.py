"""The WSGI application: finds the handler and turns errors into pages."""

import logging
from collections.abc import Callable, Iterable
from http import HTTPStatus

from shop import account, auth, checkout, html, storefront
from shop.auth import AuthError
from shop.cart import CartError
from shop.http import HttpError, Request, Response, Router
from shop.orders import OrderError
from shop.services import Shop

log = logging.getLogger(__name__)


def routes() -> Router:
    router = Router()
    router.add("GET", "/", storefront.home)
    router.add("GET", "/search", storefront.search)
    router.add("GET", "/goods/<product_id>", storefront.product)
    router.add("GET", "/cart", storefront.show_cart)
    router.add("POST", "/cart/add", storefront.add_to_cart)
    router.add("POST", "/cart/remove", storefront.remove_from_cart)
    router.add("POST", "/cart/code", storefront.use_code)
    router.add("GET", "/register", account.register_form)
    router.add("POST", "/register", account.register)
    router.add("GET", "/login", account.login_form)
    router.add("POST", "/login", account.log_in)
    router.add("POST", "/logout", account.log_out)
    router.add("GET", "/orders", account.order_list)
    router.add("GET", "/orders/<order_id>", account.order)
    router.add("POST", "/checkout", checkout.order_cart)
    router.add("POST", "/payments/webhook", checkout.webhook)
    return router


class Application:
    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.router = routes()

    def __call__(self, environ: dict, start_response: Callable) -> Iterable[bytes]:
        response = self._answer(environ)
        body = response.body.encode()
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(body)),
            **response.headers,
        }
        status = f"{response.status.value} {response.status.phrase}"
        start_response(status, list(headers.items()))
        return [body]

    def _answer(self, environ: dict) -> Response:
        try:
            request = Request.from_wsgi(environ)
            if not auth.is_open(self.shop.db, request.token):
                request.token = ""
            handler, arguments = self.router.match(request)
            return handler(self.shop, request, **arguments)
        except HttpError as error:
            return _sorry(error.status, str(error))
        except (AuthError, CartError, OrderError) as error:
            return _sorry(HTTPStatus.BAD_REQUEST, str(error))
        except Exception:
            log.exception("a handler failed")
            return _sorry(HTTPStatus.INTERNAL_SERVER_ERROR, "Something went wrong on our side.")


def _sorry(status: HTTPStatus, text: str) -> Response:
    return Response(html.layout("Sorry", html.message(text), None), status)
