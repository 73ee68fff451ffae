"""Child processes that take signals."""

# First lines of a program that is sent Ctrl-C: children of a background job inherit that it is ignored.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
