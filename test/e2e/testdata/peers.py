"""Two analyses that look for each other. The argument, JSON, says as what this one is started: "owner"
leaves things, waits and says what it felt; "seeker" looks for them; "together" is both, as plain
processes below a PID 1 of their own: the control."""

import json
import os
import subprocess
import sys

from attacks.lib.attempt import attempt, report
from roads import files, locks, loopback, memory, processes
from roads.road import Road, at, told
from turn import wait_for

ROADS = [road for module in (files, memory, locks, processes, loopback) for road in module.roads
         if not at["only"] or road.name.startswith(tuple(at["only"]))]


def that_do(what):
    """The roads that have something of their own to do there."""
    return [road for road in ROADS if getattr(type(road), what) is not getattr(Road, what)]


def own():
    os.umask(0)
    left = {road.name: attempt(road.leave) for road in that_do("leave")}
    print(json.dumps(told), file=sys.stderr, flush=True)
    try:
        wait_for(at["end"])
        felt = {road.name: attempt(road.felt) if left[road.name] == "ok" else left[road.name] for road in that_do("felt")}
    finally:
        for road in that_do("remove"):
            if left[road.name] == "ok":
                road.remove()
    report({f"left {name}": got for name, got in left.items()} | {f"felt {name}": got for name, got in felt.items()})


def seek():
    report({("did " if road.acts else "found ") + road.name: attempt(road.find) for road in that_do("find")})


def start(role, **more):
    command = [sys.executable, "-B", __file__, json.dumps(at | {"role": role} | more)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def together():
    with start("owner") as owner:
        said = owner.stderr.readline()
        assert owner.stderr.readline() == "ready\n", said + owner.stderr.read()
        with start("seeker", told=json.loads(said)) as seeker:
            found, problem = seeker.communicate()
        with open(at["end"], "w") as f:
            f.write("sought")
        felt = owner.stdout.read()
    report(json.loads(found or problem) | json.loads(felt))


{"owner": own, "seeker": seek, "together": together}[at["role"]]()
