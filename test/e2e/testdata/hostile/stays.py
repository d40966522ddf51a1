"""Never returns."""
import time

from ahead_hostile import AHEAD

if AHEAD:
    open("stays", "w").close()
    time.sleep(1000)
