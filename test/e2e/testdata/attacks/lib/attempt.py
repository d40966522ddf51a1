"""What an action gives. Runs inside a run and, as the control, outside."""

import errno
import json


def attempt(action, *args, **named):
    """ok, or the name of the error. Something other than an OSError is a mistake of the program."""
    try:
        action(*args, **named)
    except OSError as problem:
        return errno.errorcode.get(problem.errno, repr(problem))
    return "ok"


def report(results):
    print(json.dumps(results), flush=True)
