import codecs, copyreg, email.charset, json, locale, mimetypes, warnings, xml.etree.ElementTree
import urllib.request

print(len(copyreg.dispatch_table), locale.getlocale(), mimetypes.guess_type('a.csv'), len(warnings.filters), sorted(urllib.request.getproxies()))
