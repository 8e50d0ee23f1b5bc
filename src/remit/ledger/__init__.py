"""The ledger: what verdicts and decisions state about agents. Plain functions over data, without a database."""
