"""What an action gives: ok, or the name of its error. Runs inside a run and, as the control, outside."""

import errno
import json


def attempt(action, *args, **named):
    try:
        action(*args, **named)
    except OSError as problem:
        return errno.errorcode.get(problem.errno, repr(problem))
    return "ok"


def report(results):
    print(json.dumps(results), flush=True)
