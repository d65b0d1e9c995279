"""`python -m hintbound`."""

from hintbound.cli import main

main()
