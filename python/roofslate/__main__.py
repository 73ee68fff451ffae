"""`python -m roofslate`, and the program `roofslate`: the command line."""

from importlib import import_module

from roofslate._base.interrupts import leave_on_interrupt

__all__ = ["start"]


def start(program: str = "roofslate") -> None:
    """Run the command line as a program, which Ctrl-C ends with 130 at any moment."""
    leave_on_interrupt()
    import_module("roofslate.cli").main(prog_name=program)  # loaded now


if __name__ == "__main__":
    start("python -m roofslate")
