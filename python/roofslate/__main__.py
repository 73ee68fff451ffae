"""`python -m roofslate`: the command line."""

from roofslate.cli import main

main(prog_name="python -m roofslate")
