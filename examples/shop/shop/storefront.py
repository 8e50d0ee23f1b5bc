"""Handlers for everybody: goods, search and the cart."""

from http import HTTPStatus

from shop import auth, cart, catalog, html
from shop.http import HttpError, Request, Response, redirect, whole_number
from shop.services import Shop


def _page(shop: Shop, request: Request, title: str, body: str) -> Response:
    return Response(html.layout(title, body, auth.user_of(shop.db, request.token)))


def home(shop: Shop, request: Request) -> Response:
    number = whole_number(request.query.get("page", ""), otherwise=1)
    page = catalog.page(shop.db, number, shop.settings.page_size)
    return _page(shop, request, "Goods", html.goods("Our goods", page.products) + html.pager(page))


def search(shop: Shop, request: Request) -> Response:
    text = request.query.get("q", "").strip()
    if not text:
        return redirect("/")
    found = catalog.search(shop.db, text)
    return _page(shop, request, "Search", html.goods(f"Found for {text}: {len(found)}", found))


def product(shop: Shop, request: Request, product_id: int) -> Response:
    item = catalog.find(shop.db, product_id)
    if item is None:
        raise HttpError(HTTPStatus.NOT_FOUND, "We do not sell that.")
    return _page(shop, request, item.name, html.product(item))


def show_cart(shop: Shop, request: Request) -> Response:
    return _page(shop, request, "Cart", html.cart(cart.load(shop.db, request.token)))


def add_to_cart(shop: Shop, request: Request) -> Response:
    form = request.form
    token = request.token or auth.open_session(shop.db)
    product_id = whole_number(form.get("product", ""), otherwise=0)
    quantity = whole_number(form.get("quantity", ""), otherwise=0)
    cart.add(shop.db, token, product_id, quantity)
    return redirect("/cart").remember(token)


def remove_from_cart(shop: Shop, request: Request) -> Response:
    product_id = whole_number(request.form.get("product", ""), otherwise=0)
    cart.remove(shop.db, request.token, product_id)
    return redirect("/cart")


def use_code(shop: Shop, request: Request) -> Response:
    cart.use_code(shop.db, request.token, request.form.get("code", "").strip())
    return redirect("/cart")
