"""Run jobs on several hosts while the network and the database fail: `python tools/network.py [EVENT ...]`.

The hosts are network namespaces of this machine: two database servers with TLS and passwords (Debian's `postgresql`),
a provider, two hosts with workers and one with submitters. It needs root. Each event hits a conversation in its middle;
then nothing may be lost or done twice, and nothing readable on the wire. It prints a line for each event.

    partition     the worker of a job cannot reach the database for --seconds; another worker continues
    isolation     no host can reach the database for --seconds; the job continues afterwards
    slow          a link with a delay of 100 ms in each direction and 64 KB/s
    restart       the server crashes and starts again, at each turn
    fail-over     the primary server's host disappears, and the standby is promoted
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "src")]

from support.deployment import (  # type: ignore[import-not-found,unused-ignore] # noqa: E402
    Deployment,
    RemoteProcess,
    deployed,
    script_of,
    why_not,
)

TURNS = 5
Workers = list[RemoteProcess]


def _hold(fleet: Deployment, seconds: float, job: int, turn: int) -> None:
    """Let time pass; if another worker continues the job meanwhile, let it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if fleet.job(job)["attempt"] > 1 and turn < TURNS - 1:
            fleet.provider.open(f"{fleet.job(job)['prompt'].partition('<')[2].rstrip('>')}-{turn}")
        time.sleep(0.25)


def partition(fleet: Deployment, workers: Workers, job: int, seconds: float) -> None:
    """Cut the worker of the job off from the database."""
    fleet.network.cut(fleet.workers[fleet.owner_of(job, workers)], fleet.database)
    fleet.provider.open("partition-1")  # the answer reaches a worker that cannot store it
    _hold(fleet, seconds, job, 2)
    assert fleet.job(job)["attempt"] == 2, "another worker has taken the job over"
    fleet.network.heal()


def isolation(fleet: Deployment, _: Workers, job: int, seconds: float) -> None:
    """Cut everybody off from the database."""
    fleet.network.cut(fleet.database, *fleet.workers, fleet.client)
    fleet.provider.open("isolation-1")
    refused = fleet.start(fleet.client, "jobs", "list", REMIT_DATABASE_URL=fleet.url("fleet_submitter"))
    _hold(fleet, seconds, job, 2)
    assert refused.wait() == 3
    assert "the database does not answer" in refused.output, refused.output
    fleet.network.heal()


def slow(fleet: Deployment, *_: object) -> None:
    """Slow the links of the workers down."""
    for host in fleet.workers:
        host.delay, host.rate = 0.1, 64_000.0


def restart(fleet: Deployment, _: Workers, job: int, __: float) -> None:
    """Let the server crash and start again at each turn."""
    for turn in range(1, TURNS):
        fleet.primary.stop("immediate")
        fleet.provider.open(f"restart-{turn}")
        fleet.primary.start()
        if turn < TURNS - 1:
            fleet.provider.wait(f"restart-{turn + 1}")
    assert fleet.job(job)["deaths"] == 0, "its worker did not die"


def fail_over(fleet: Deployment, *_: object) -> None:
    """Let the host of the primary server disappear."""
    fleet.fail_over()


EVENTS: dict[str, Callable[[Deployment, Workers, int, float], None]] = {
    "partition": partition,
    "isolation": isolation,
    "slow": slow,
    "restart": restart,
    "fail-over": fail_over,
}


def run(name: str, seconds: float) -> str:
    """Run a conversation with an event in its middle, and return a line about it."""
    with deployed(script_of(**{name: TURNS}), has_standby=name == "fail-over") as fleet:
        fleet.environment["REMIT_TAKEOVER_SECONDS"] = str(min(30.0, seconds / 3))
        workers = [fleet.worker(0), fleet.worker(1)]
        fleet.ready(*workers)
        job = fleet.submit(name)
        fleet.provider.open(f"{name}-0")
        fleet.provider.wait(f"{name}-1")
        began = time.monotonic()
        EVENTS[name](fleet, workers, job, seconds)
        over = time.monotonic()
        for turn in range(1, TURNS):
            fleet.provider.open(f"{name}-{turn}")
        end = fleet.finished(job, name, TURNS)
        took = time.monotonic() - over
        assert all(worker.is_alive for worker in workers), "the workers are alive"
        assert not fleet.readable(), f"readable on the wire: {fleet.readable()}"
        captured, asked = len(fleet.network.captured), fleet.provider.asked(name)
        return (
            f"{name:<10} event {over - began:5.1f} s, finished {took:5.1f} s after it; attempts {end['attempt']}, "
            f"requests {asked} for {TURNS} turns, effects {len(fleet.effects(name))} of {TURNS - 1}, "
            f"{captured / 1e6:.1f} MB on the wire, nothing readable"
        )


def main() -> int:
    """Run the events and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("events", nargs="*", metavar="EVENT", help=f"default: {' '.join(EVENTS)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long a partition lasts (60)")
    options = parser.parse_args()
    if unknown := set(options.events) - set(EVENTS):
        parser.error(f"there is no event {', '.join(sorted(unknown))}; the events are {', '.join(EVENTS)}")
    if reason := why_not():
        sys.stderr.write(f"{reason}\n")
        return 3
    for name in options.events or EVENTS:
        sys.stdout.write(run(name, options.seconds) + "\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
