"""Child processes that take signals."""

# First lines of a program that is sent Ctrl-C: where the tests run in the background, children inherit that it is ignored.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
