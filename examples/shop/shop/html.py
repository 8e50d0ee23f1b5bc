"""Pages. Whatever comes from people or the database goes through escape()."""

import sqlite3
from html import escape

from shop.auth import User
from shop.cart import Cart
from shop.catalog import Page, Product
from shop.orders import Order
from shop.prices import money


def layout(title: str, body: str, user: User | None) -> str:
    if user:
        account = f'<a href="/orders">{escape(user.email)}</a>'
    else:
        account = '<a href="/login">Log in</a> <a href="/register">Register</a>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(title)} | Shop</title></head><body>"
        f'<nav><a href="/">Goods</a> <a href="/cart">Cart</a> {account}'
        '<form action="/search"><input name="q"><button>Search</button></form></nav>'
        f"<main>{body}</main></body></html>"
    )


def goods(heading: str, products: list[Product]) -> str:
    items = "".join(
        f'<li><a href="/goods/{p.id}">{escape(p.name)}</a> {money(p.price)}</li>' for p in products
    )
    return f"<h1>{heading}</h1><ul>{items}</ul>"


def pager(page: Page) -> str:
    links = (
        f"<b>{n}</b>" if n == page.number else f'<a href="/?page={n}">{n}</a>'
        for n in range(1, page.count + 1)
    )
    return f"<p>{' '.join(links)}</p>"


def product(item: Product) -> str:
    return (
        f"<h1>{escape(item.name)}</h1><p>{escape(item.description)}</p>"
        f"<p>{money(item.price)}, {item.stock} in stock</p>"
        '<form method="post" action="/cart/add">'
        f'<input type="hidden" name="product" value="{item.id}">'
        '<input name="quantity" value="1"><button>Add to cart</button></form>'
    )


def cart(content: Cart) -> str:
    if not content.lines:
        return "<h1>Cart</h1><p>Your cart is empty.</p>"
    rows = "".join(
        f"<tr><td>{escape(line.name)}</td><td>{line.quantity}</td><td>{money(line.total)}</td>"
        f'<td><form method="post" action="/cart/remove"><button name="product"'
        f' value="{line.product_id}">Remove</button></form></td></tr>'
        for line in content.lines
    )
    return (
        f"<h1>Cart</h1><table>{rows}</table>"
        f"<p>Discount: {money(content.subtotal - content.goods)} {escape(content.code)}</p>"
        f"<p>Shipping: {money(content.shipping)}</p><p>To pay: {money(content.total)}</p>"
        '<form method="post" action="/cart/code"><input name="code"><button>Apply</button></form>'
        '<form method="post" action="/checkout"><input name="address"><input name="card">'
        "<button>Order</button></form>"
    )


def account_form(title: str, action: str) -> str:
    return (
        f'<h1>{title}</h1><form method="post" action="{action}"><input name="email">'
        f'<input name="password" type="password"><button>{title}</button></form>'
    )


def order_list(orders: list[Order]) -> str:
    items = "".join(
        f'<li><a href="/orders/{o.id}">Order {o.id}</a> {money(o.total)}, {o.status}</li>'
        for o in orders
    )
    return (
        f"<h1>Your orders</h1><ul>{items}</ul>"
        '<form method="post" action="/logout"><button>Log out</button></form>'
    )


def order(item: Order, lines: list[sqlite3.Row]) -> str:
    rows = "".join(
        f"<tr><td>{escape(line['name'])}</td><td>{line['quantity']}</td>"
        f"<td>{money(line['price'])}</td></tr>"
        for line in lines
    )
    return (
        f"<h1>Order {item.id}</h1><p>{item.status}, {item.created}</p><table>{rows}</table>"
        f"<p>Total: {money(item.total)}</p><p>Sent to: {escape(item.address)}</p>"
    )


def message(text: str) -> str:
    return f"<p>{escape(text)}</p>"
