import json


def inner(x):
    return json.loads(x)


def outer(x):
    try:
        inner(x)
    except ValueError as error:
        raise RuntimeError("outer") from error


outer("{")
