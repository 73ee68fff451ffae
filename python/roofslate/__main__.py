"""`python -m roofslate`, and the program `roofslate`: the command line."""

from roofslate._base.interrupts import leave_on_interrupt

__all__ = ["start"]


def start(program: str = "roofslate") -> None:
    """Run the command line as a program, which Ctrl-C ends with 130 at any moment."""
    leave_on_interrupt()
    from roofslate.cli import main

    main(prog_name=program)


if __name__ == "__main__":
    start("python -m roofslate")
