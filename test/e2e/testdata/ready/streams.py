import sys
for s in sys.stdin, sys.stdout, sys.stderr:
    print(s.name, s.encoding, s.errors, s.line_buffering, s.isatty(), getattr(s, "write_through", None), s.buffer, s.fileno(), s.newlines)
print(repr(sys.stdin.read()), sys.getfilesystemencoding(), sys.getdefaultencoding())
sys.stdout.write("no end of line")
