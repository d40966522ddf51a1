"""For attack programs in Python: what is attacked, and what an action gives."""

import json
import sys

from .attempt import attempt, report

__all__ = ["arena", "attempt", "report"]

arena = json.loads(sys.argv[1])
