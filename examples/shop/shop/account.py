"""Handlers for customers: registering, logging in and out, their orders."""

from http import HTTPStatus

from shop import auth, html, orders
from shop.http import HttpError, Request, Response, redirect
from shop.services import Shop


def customer(shop: Shop, request: Request) -> auth.User:
    """The user who is logged in; everybody else is told to log in."""
    user = auth.user_of(shop.db, request.token)
    if user is None:
        raise HttpError(HTTPStatus.UNAUTHORIZED, "Please log in first.")
    return user


def register_form(shop: Shop, request: Request) -> Response:
    return Response(html.layout("Register", html.account_form("Register", "/register"), None))


def register(shop: Shop, request: Request) -> Response:
    form = request.form
    user = auth.register(shop.db, form.get("email", ""), form.get("password", ""))
    return _logged_in(shop, request, user)


def login_form(shop: Shop, request: Request) -> Response:
    return Response(html.layout("Log in", html.account_form("Log in", "/login"), None))


def log_in(shop: Shop, request: Request) -> Response:
    form = request.form
    user = auth.check_password(shop.db, form.get("email", ""), form.get("password", ""))
    if user is None:
        raise HttpError(HTTPStatus.UNAUTHORIZED, "E-mail or password is wrong.")
    return _logged_in(shop, request, user)


def _logged_in(shop: Shop, request: Request, user: auth.User) -> Response:
    token = request.token or auth.open_session(shop.db)
    return redirect("/orders").remember(auth.log_in(shop.db, token, user))


def log_out(shop: Shop, request: Request) -> Response:
    auth.log_out(shop.db, request.token)
    return redirect("/")


def order_list(shop: Shop, request: Request) -> Response:
    user = customer(shop, request)
    mine = orders.of_user(shop.db, user.id)
    return Response(html.layout("Your orders", html.order_list(mine), user))


def order(shop: Shop, request: Request, order_id: int) -> Response:
    user = customer(shop, request)
    found = orders.find(shop.db, order_id)
    if found is None:
        raise HttpError(HTTPStatus.NOT_FOUND, "There is no such order.")
    body = html.order(found, orders.lines(shop.db, order_id))
    return Response(html.layout(f"Order {order_id}", body, user))
