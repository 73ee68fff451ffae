"""Child processes that take signals."""

# First lines of a program that is sent Ctrl-C: children of a background job inherit that it is ignored.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

# Last lines of a program: each of `pieces` runs in a copy of the process, as in an interpreter just started, and its
# output is shown by its name. Nothing of the package may have run before, so that no thread is lost.
IN_COPIES = """
import json, os, sys, traceback, warnings


def run_in_copy(code):
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads of OpenBLAS, which know of copies
        process = os.fork()
    if not process:
        os.dup2(writing, 1)
        try:
            exec(code, dict(globals()))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    os.close(writing)
    with open(reading) as pipe:
        printed = pipe.read()
    _, status = os.waitpid(process, 0)
    assert status == 0, code
    return printed.strip()


print(json.dumps({{name: run_in_copy(code) for name, code in {pieces!r}.items()}}))
"""
