"""Mail to customers, kept in an outbox until a relay takes it."""

from dataclasses import dataclass, field
from email.message import EmailMessage

from shop.orders import Order
from shop.prices import money

SENDER = "orders@shop.example"


@dataclass
class Outbox:
    messages: list[EmailMessage] = field(default_factory=list)

    def send(self, message: EmailMessage) -> None:
        self.messages.append(message)


def receipt(order: Order, email: str) -> EmailMessage:
    message = EmailMessage()
    message["From"] = SENDER
    message["To"] = email
    message["Subject"] = f"Your order {order.id}"
    message.set_content(
        f"Thank you for your order of {money(order.total)}.\n\n"
        f"We will send it to:\n{order.address}\n"
    )
    return message
