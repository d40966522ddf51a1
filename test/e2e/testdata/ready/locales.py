import locale
import time
print(locale.getlocale(), locale.getpreferredencoding(), locale.localeconv()["decimal_point"], time.tzname, time.strftime("%A", time.gmtime(0)))
