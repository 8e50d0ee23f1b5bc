"""Handlers for money: ordering what is in the cart, and the gateway's webhook."""

from http import HTTPStatus

from shop import cart, mail, orders, payments
from shop.account import customer
from shop.http import HttpError, Request, Response, redirect
from shop.services import Shop


def order_cart(shop: Shop, request: Request) -> Response:
    user = customer(shop, request)
    form = request.form
    content = cart.load(shop.db, request.token)
    order_id = orders.place(shop.db, user.id, content, form.get("address", ""))
    order = orders.find(shop.db, order_id)
    payments.capture(shop.db, shop.gateway, order, form.get("card", ""))
    cart.clear(shop.db, request.token)
    shop.outbox.send(mail.receipt(order, user.email))
    return redirect(f"/orders/{order_id}")


def webhook(shop: Shop, request: Request) -> Response:
    if not payments.is_genuine(request.body, request.signature, shop.settings.webhook_key):
        raise HttpError(HTTPStatus.FORBIDDEN, "The signature does not match.")
    if not payments.receive(shop.db, request.body):
        return Response("ignored")
    return Response("done")
