"""Money in whole pence: discount codes, shipping, and how a price is written."""

DISCOUNTS = {"WELCOME10": 10, "TEATIME25": 25}
SHIPPING = 395
FREE_SHIPPING_FROM = 4000


def is_code(code: str) -> bool:
    return code.upper() in DISCOUNTS


def discounted(pence: int, code: str) -> int:
    """The price after the code's percentage, rounded to the nearest penny."""
    percent = DISCOUNTS.get(code.upper(), 0)
    return pence - (pence * percent + 50) // 100


def shipping(pence: int) -> int:
    """What it costs to send goods of this value."""
    if pence == 0 or pence >= FREE_SHIPPING_FROM:
        return 0
    return SHIPPING


def money(pence: int) -> str:
    """Write an amount for people: 1250 is £12.50."""
    return f"£{pence // 100}.{pence % 100:02d}"
