import signal
print([(n, signal.getsignal(n)) for n in sorted(signal.valid_signals())], signal.pthread_sigmask(signal.SIG_BLOCK, []))
