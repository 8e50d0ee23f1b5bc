"""Workers and submitters on other hosts than the database: TLS, passwords, and a network that fails.

`tools/network.py` runs the same events separately and for as long as a deployment sees them.
"""

from __future__ import annotations

import psycopg
import pytest
from support.deployment import deployed, script_of, why_not
from support.network import inside
from support.tls_postgres import DATABASE

pytestmark = [
    pytest.mark.process,
    pytest.mark.database,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can run here"),
]
TURNS = 6
#: The limits of a connection, as short as they can be.
SHORT = {"connect_timeout": 2, "keepalives_idle": 1, "keepalives_interval": 1, "tcp_user_timeout": 2000}


def test_a_conversation_survives_a_partition_a_restart_a_slow_link_and_a_fail_over() -> None:
    with deployed(script_of(job=TURNS), has_standby=True) as fleet:
        fleet.limits = dict(SHORT)
        fleet.environment["REMIT_TAKEOVER_SECONDS"] = "3"
        workers = [fleet.worker(0), fleet.worker(1)]
        job = fleet.submit_here("job")
        fleet.ready(*workers)
        provider = fleet.provider
        provider.open("job-0")

        provider.wait("job-1")
        owner = fleet.owner_of(job, workers)
        fleet.network.cut(fleet.workers[owner], *(server.host for server in fleet.servers))
        provider.open("job-1")  # the answer reaches a worker that cannot store it
        fleet.until(lambda: fleet.job(job)["attempt"] == 2)
        provider.wait("job-2")
        assert fleet.effects("job") == ["0", "1"]
        fleet.network.heal()
        fleet.until(lambda: "no longer owned by attempt 1" in workers[owner].output)

        fleet.primary.stop("immediate")
        provider.open("job-2")  # the answer arrives while it cannot be stored
        fleet.primary.start()
        provider.wait("job-3")

        for host in fleet.workers:
            host.delay, host.rate = 0.03, 200_000.0
        provider.open("job-3")
        provider.wait("job-4")
        for host in fleet.workers:
            host.delay, host.rate = 0.0, 0.0

        fleet.fail_over()
        provider.open("job-4")
        provider.open("job-5")
        fleet.finished(job, "job", TURNS)
        assert all(worker.is_alive for worker in workers)
        assert TURNS <= provider.asked("job") <= TURNS + 4, "only a turn in flight may be asked again"

        with inside(fleet.client.namespace), pytest.raises(psycopg.OperationalError, match="no encryption"):
            psycopg.connect(fleet.url(sslmode="disable", connect_timeout=2))
        assert fleet.readable() == []
        assert DATABASE.encode() in fleet.network.captured, "the attempt without TLS is readable"
