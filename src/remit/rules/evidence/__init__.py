"""Rules that check claims against the checkout and the receipts."""
