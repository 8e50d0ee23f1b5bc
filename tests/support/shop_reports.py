"""Reports on the example project that keep or violate the contract."""

from __future__ import annotations

import re
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

#: A report on the example project that is accepted if its files were read, and the same with a missing file.
GOOD = """## Code Explorer Result

### Status
SUCCESS

### Summary
Followed an order from the browser's form to the receipt. Stock, payment and mail each live in a module of their own.

### Findings

#### Entry Points
| Entry | File:Line | Type |
|-------|-----------|------|
| POST /checkout | `shop/checkout.py:11` | HTTP handler |

#### Execution Flow
1. Route matched → `shop/app.py:55` (_answer)
2. Order written → `shop/orders.py:26` (place)
3. Card charged → `shop/payments.py:36` (capture)
4. Receipt queued → `shop/mail.py:20` (receipt)

### Key References
| Item | Location | Relevance |
|------|----------|-----------|
| Checkout handler | `shop/checkout.py:11-20` | The whole flow in ten lines |
| Order total | `shop/orders.py:32` | Where the amount is decided |

### Confidence
85 - Each step was read; the real gateway is out of sight

verified_confidence: 88
inferred_confidence: 82
combined_confidence: 85

### Confidence Justification
**Score**: 85
**Evidence Count**: 5
**Verification Method**: Read every function on the path
**Potential Blind Spots**: A remote gateway

### Verification Completed
- [x] **File References Valid**: Every cited line was opened
- [x] **Code Snippets Accurate**: Nothing was quoted
- [x] **No Hallucinated Paths**: Paths come from the directory listing
- [x] **Evidence Documented**: Each statement names its place

### Next Steps
1. Review how a declined card is treated
"""
INVENTED = "shop/refunds.py:36"
BAD = GOOD.replace("shop/payments.py:36", INVENTED)
DESIGN = (EXAMPLES / "results/design.md").read_text(encoding="utf-8").replace("examples/shop/", "")
#: A sentence of each report, by which tests recognize it.
GOOD_WORDS = "Followed an order from the browser's form"
DESIGN_WORDS = "Designed a wish list"


def cited(report: str) -> list[str]:
    """Return the files that a report cites with a line."""
    return sorted(set(re.findall(r"`((?:shop|tests)/[\w/]+\.py):\d", report)) - {INVENTED.partition(":")[0]})
